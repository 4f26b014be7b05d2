"""The published figures and table of `BiasReport`, drawn from the files that the original writes."""

import json
import math
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from countenance.data.adapters.fhibe.attributes import check_attributes
from countenance.data.reading.columns import literal
from countenance.data.vocabulary import FITZPATRICK
from countenance.report.draw.mpl.style import drawing
from countenance.report.draw.palette import PLAIN
from countenance.report.names import attribute_label, value_label
from countenance.report.numbers import probability
from countenance.suites.fhibe.original.scores import ReportScores

ROWS = 50
"""The longest published table."""
IOU_TASKS = ("person_localization", "person_parsing", "face_localization")
PER_PART = "body_parts_detection"


class Figures(ReportScores):
    """The drawing methods of `BiasReport`; a matplotlib figure is written where `fig_savename` says."""

    def plot_iou_vs_threshold(self, savefig: bool = False, fig_savename: str | None = None) -> Any:
        """The share of rows whose overlap reaches each threshold."""
        if self.task_name not in IOU_TASKS:
            raise RuntimeError(f"IoU cannot be plotted for task: {self.task_name}")
        points = _accepted(self.results_dir / "detailed_results_iou_threshold.json")
        return _curve(points, "Share of rows with IoU ≥ threshold", fig_savename if savefig else None)

    def plot_oks_vs_threshold(self, savefig: bool = False, fig_savename: str | None = None) -> Any:
        """The share of rows whose keypoint similarity reaches each threshold."""
        if self.task_name != "keypoint_estimation":
            raise RuntimeError(f"OKS cannot be plotted for task: {self.task_name}")
        points = _accepted(self.results_dir / "detailed_results_oks_threshold.json")
        return _curve(points, "Share of rows with OKS ≥ threshold", fig_savename if savefig else None)

    def plot_pck_vs_threshold(self, savefig: bool = False, fig_savename: str | None = None) -> Any:
        """The mean share of correct keypoints at each threshold."""
        if self.task_name != "keypoint_estimation":
            raise RuntimeError(f"PCK cannot be plotted for task: {self.task_name}")
        stored = json.loads((self.results_dir / "pck_scores_threshold.json").read_text(encoding="utf-8"))
        shares = [row["pcks@thresholds"] for row in stored["results"].values()]
        means = np.nanmean(np.array(shares, dtype=np.float64), axis=0)
        points = dict(zip(stored["thresholds"], means.tolist(), strict=True))
        return _curve(points, "Mean share of correct keypoints", fig_savename if savefig else None)

    def plot_metric_by_intersectional_group(
        self,
        metric_name: str,
        attr_name: str,
        intersectional_results: Mapping[str, Any] | None = None,
        group_largest_regions: bool = True,
        show_medians: bool = False,
        show_significance: bool = False,
        savefig: bool = False,
        fig_savename: str | None = None,
    ) -> Any:
        """A bar for each group of an attribute: mean, one standard error, the group's size; medians as rings.

        With `show_significance` groups of the published table are joined by brackets: *, **, *** for p below .05, .01
        and .001, each divided by the number of pairs shown. Skin tones have their own colours.
        """
        metric = self.validate_metric(metric_name)
        check_attributes([attr_name], self.dataset_base == "fhibe_face")
        results = self._grouped_results(metric) if intersectional_results is None else intersectional_results
        rows = self.get_attr_scores(results, metric, attr_name, group_largest_regions)
        bars = _bars(rows, attr_name, metric)
        pairs: list[list[Any]] = []
        if show_significance and self.task_name not in (PER_PART, "face_verification"):
            pairs = self.calculate_disparity(results, [attr_name], metric, group_largest_regions, 1)
        with drawing() as figure_of:
            figure = figure_of(figsize=(8, 6), layout="constrained")
            axes = figure.add_subplot()
            names, parts = list(dict.fromkeys(group for group, _ in bars)), dict.fromkeys(part for _, part in bars)
            width = 0.8 / len(parts)
            for shift, part in enumerate(parts):
                several = len(parts) > 1
                places = [i + width * (shift - (len(parts) - 1) / 2) for i in range(len(names))]
                drawn = [bars.get((name, part)) for name in names]
                colours = None if several else [_colour(attr_name, name) for name in names]
                axes.bar(
                    places,
                    [math.nan if bar is None else bar.mean for bar in drawn],
                    width,
                    yerr=[math.nan if bar is None else bar.error for bar in drawn],
                    capsize=3,
                    color=colours,
                    label=part if several else None,
                    edgecolor="black",
                    linewidth=0.4,
                )
                if show_medians:
                    medians = [math.nan if bar is None else bar.median for bar in drawn]
                    axes.plot(places, medians, "o", markerfacecolor="none", color="black")
            if len(parts) > 1:
                axes.legend(loc="center left", bbox_to_anchor=(1.02, 0.5))
            sizes = {name: max(bar.size for (group, _), bar in bars.items() if group == name) for name in names}
            ticks = [textwrap.fill(f"{name} ({sizes[name]})", 30) for name in names]
            axes.set_xticks(range(len(names)), ticks, rotation=90 if len(names) > 6 else 0)
            _brackets(axes, pairs, attr_name, names)
            axes.set_xlabel(attribute_label(attr_name))
            axes.set_ylabel(metric)
            axes.set_ylim(bottom=0)
            _save(figure, fig_savename if savefig else None)
        return figure

    def make_disparity_table(
        self,
        intersectional_results: Mapping[str, Any],
        attributes_to_consider: Sequence[str],
        metric_name: str,
        group_largest_regions: bool,
    ) -> list[list[str]] | None:
        """The published table, largest disparities first: a row of headings and up to 50 rows of texts.

        None if no pair differs. The original returns a reportlab table.
        """
        pairs = self.calculate_disparity(
            intersectional_results, attributes_to_consider, metric_name, group_largest_regions, 1
        )
        pairs = sorted(pairs, key=lambda row: -row[-3])[:ROWS]
        if not pairs:
            return None
        per_part = self.task_name == PER_PART
        head = ["Attribute", *(["Body part"] if per_part else []), "Worst group", "Worst mean/median (n)", "Best group"]
        table = [[*head, "Best mean/median (n)", "Mean/median disparity", "P value", "Effect size"]]
        for key, *part, worst, worst_size, best, best_size, disparity, p, effect in pairs:
            (attribute,) = literal(key, "results")
            entries = [intersectional_results[key][group] for group in (worst, best)]
            entries = [entry[part[0]] for entry in entries] if part else entries
            means = [float(entry[metric_name]) for entry in entries]
            medians = [float(np.nanmedian(entry["scores"])) for entry in entries]
            groups = [value_label(attribute, str(literal(group, "results")[0])) for group in (worst, best)]
            texts = [
                f"{mean:.2f}/{median:.2f} ({size})"
                for mean, median, size in zip(means, medians, (worst_size, best_size), strict=True)
            ]
            ratio = means[0] / means[1] if means[1] else 1.0
            shown = [f"{1 - ratio:.2f} / {disparity:.2f}", probability(p), f"{abs(effect):.2f}"]
            table.append([attribute_label(attribute), *part, groups[0], texts[0], groups[1], texts[1], *shown])
        return table


class _Bar:
    """The mean, standard error, median and size of a group."""

    def __init__(self, scores: Sequence[float], error: float | None, size: int | None) -> None:
        values = np.array(scores, dtype=np.float64)
        values = values[~np.isnan(values)]
        self.size = len(scores) if size is None else size
        self.mean = float(values.mean()) if len(values) else math.nan
        self.median = float(np.median(values)) if len(values) else math.nan
        spread = float(values.std(ddof=1) / math.sqrt(len(values))) if len(values) > 1 else 0.0
        self.error = spread if error is None else error


def _bars(rows: Sequence[Mapping[str, Any]], attribute: str, metric: str) -> dict[tuple[str, str], _Bar]:
    """A bar for each group and body part."""
    scores: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for row in rows:
        scores.setdefault((row[attribute], row.get("Body Part", "")), []).append(row)
    return {
        name: _Bar([row[metric] for row in some], some[0].get(f"{metric}_Error"), some[0].get("class_size"))
        for name, some in scores.items()
    }


def _colour(attribute: str, name: str) -> Any:
    """A skin tone's own colour; one colour for all groups of other attributes."""
    if attribute in ("apparent_skin_color", "natural_skin_color"):
        for colour, tone in FITZPATRICK.items():
            if tone == name:
                return tuple(part / 255 for part in colour)
    return PLAIN[0]


def _brackets(axes: Any, pairs: Sequence[Sequence[Any]], attribute: str, names: Sequence[str]) -> None:
    """Brackets over groups that differ."""
    top = axes.get_ylim()[1]
    step, level = 0.05 * top, top
    for _, worst, _, best, _, _, p, _ in pairs:
        stars = sum(p < bound / len(pairs) for bound in (0.05, 0.01, 0.001))
        if not stars:
            continue
        ends = [names.index(value_label(attribute, str(literal(group, "results")[0]))) for group in (worst, best)]
        axes.plot(np.repeat(ends, 2), [level, level + step, level + step, level], color="black", linewidth=1)
        axes.text(sum(ends) / 2, level + step, "*" * stars, ha="center", va="bottom")
        level += 2.5 * step


def _accepted(path: Path) -> dict[float, float]:
    """The share of rows that reach each threshold, from a published file."""
    stored = json.loads(path.read_text(encoding="utf-8"))
    return {
        float(name): float(np.mean([row["accept"] for row in level["individual_results"]]))
        for name, level in stored.items()
    }


def _curve(points: Mapping[float, float], label: str, out: str | None) -> Any:
    with drawing() as figure_of:
        figure = figure_of(figsize=(6.4, 4.8), layout="constrained")
        axes = figure.add_subplot()
        levels = sorted(points)
        axes.plot(levels, [points[level] for level in levels], marker="o", color=PLAIN[0])
        axes.set_xlabel("Threshold")
        axes.set_ylabel(label)
        axes.set_ylim(-0.05, 1.05)
        axes.grid(visible=True)
        _save(figure, out)
    return figure


def _save(figure: Any, out: str | None) -> None:
    if out:
        figure.savefig(out)
