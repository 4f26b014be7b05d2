"""Scores the stored outputs of a model: nothing is cached, every call reads what the files hold now."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from countenance.errors import InputError
from countenance.suites.fhibe.groups import AttributeLabels, Group, all_groups, label
from countenance.suites.fhibe.published import grouped_results, write_published
from countenance.suites.fhibe.reading import SCORERS
from countenance.suites.fhibe.scored import Scored, ScoringJob, Step
from countenance.suites.fhibe.settings import FhibeSettings
from countenance.suites.fhibe.table import FhibeTable, everyone_in, mini, read_table


@dataclass
class FhibeEvaluation:
    """One task scored and grouped."""

    settings: FhibeSettings
    scored: Scored
    labels: list[AttributeLabels]

    @property
    def table(self) -> FhibeTable:
        """The rows that were scored."""
        return self.scored.table

    @property
    def problems(self) -> list[str]:
        """What a reader of the numbers should know."""
        return [*self.table.problems, *self.scored.problems]

    @property
    def computed(self) -> list[str]:
        """The metrics that were computed."""
        return [metric for metric in self.settings.metrics if metric not in self.scored.skipped]

    def groups(self, depth: int | None = None) -> list[Group]:
        """Every group of every combination of up to `depth` attributes."""
        return all_groups(self.labels, depth)

    def results(self, metric: str, depth: int | None = None) -> dict[str, dict[str, Any]]:
        """The grouped results of one metric in the published shape."""
        return grouped_results(self.scored, metric, self.groups(depth), strict=self.settings.strict)

    def write_files(self) -> None:
        """Write the published layout."""
        grouped = {metric: self.results(metric, self.settings.depth) for metric in self.computed}
        write_published(self.settings.folder, self.scored, grouped, self.settings.options.get("custom_keypoints"))


def people_of(settings: FhibeSettings, *more: str) -> tuple[FhibeTable, FhibeTable]:
    """The rows to score (all, or those of a mini dataset) and all people of their images, with `more` columns.

    In strict mode the people who were not drawn count as nobody, as published.
    """
    names = (*settings.attributes, *more)
    table = people = read_table(settings.data, settings.dataset, settings.task, names, strict=settings.strict)
    if settings.mini is not None:
        drawn = mini(table, settings.mini)
        table, people = drawn, drawn if settings.strict else everyone_in(table, drawn)
    if settings.without:
        table, people = _without(table, settings.without), _without(people, settings.without)
        if not len(table):
            raise InputError(f"{table.path}: no row is left")
    return table, people


def _without(table: FhibeTable, images: Collection[str]) -> FhibeTable:
    return table.take([i for i, name in enumerate(table.text("filepath")) if name not in images])


def score(settings: FhibeSettings, step: Step = lambda n: None) -> FhibeEvaluation:
    """Score the outputs that lie in the model's folder."""
    job = ScoringJob(settings, *people_of(settings), settings.outputs, settings.layout, step)
    scored = SCORERS[settings.task](job)
    return FhibeEvaluation(
        settings, scored, [label(scored.table, name, settings.compat) for name in settings.attributes]
    )
