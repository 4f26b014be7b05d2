"""Shared by all routes: the runs, the privacy setting, and the templates."""

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from jinja2 import ChoiceLoader, Environment, FileSystemLoader

from countenance.report.render import environment
from countenance.view.library import MOST_OPEN, Library
from countenance.view.named_views import Saved
from countenance.view.open_run import OpenRun
from countenance.view.policy import STATIC
from countenance.view.privacy import Privacy
from countenance.view.samples import RunGallery

HERE = Path(__file__).parent


@dataclass
class Site:
    """One start of the viewer, with its runs and settings."""

    library: Library
    privacy: Privacy
    galleries: dict[str, RunGallery] = field(default_factory=dict)
    compared: dict[Any, Any] = field(default_factory=dict)
    """Comparisons that were made, by runs and question."""

    cards: dict[Any, Any] = field(default_factory=dict)
    """What the list of runs says of each, and the small pictures in it."""

    def gallery(self, opened: OpenRun) -> RunGallery:
        """The pictures of a run, loaded once."""
        known = self.galleries.get(opened.id)
        if known is None or known.opened is not opened:
            known = RunGallery(opened, self.privacy.mode(opened.run.manifest.dataset.card.real_people))
            self.galleries[opened.id] = known
            while len(self.galleries) > MOST_OPEN:
                del self.galleries[next(iter(self.galleries))]
        return known

    @cached_property
    def saved(self) -> Saved:
        """The saved views."""
        return Saved(self.library.roots[0].storage)

    @cached_property
    def templates(self) -> Environment:
        """The viewer's templates, and the report's for other names."""
        report = environment()
        return report.overlay(
            loader=ChoiceLoader([FileSystemLoader(HERE / "templates"), report.loader or ChoiceLoader([])])
        )

    def render(self, template: str, **context: Any) -> str:
        """A page, everything escaped."""
        return self.templates.get_template(template).render(site=self, static_policy=STATIC, **context)
