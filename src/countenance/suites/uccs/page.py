"""One page about one submission: its curve, its groups, its operating points, its errors and what they cost."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from markupsafe import Markup

import countenance
from countenance.report import render
from countenance.suites.uccs.calibration import calibrate
from countenance.suites.uccs.errors import Mistake, missed_faces, picture, show_pictures, worst_false_alarms
from countenance.suites.uccs.evaluation import Evaluation
from countenance.suites.uccs.operating import EVERYBODY, FEW, compare_groups, middle, operating_points
from countenance.suites.uccs.plot import chart_of, drawn, group_charts

TEMPLATES = Path(__file__).parent


def write_page(
    evaluation: Evaluation,
    data: Path,
    path: Path,
    *,
    by: Sequence[str] = (),
    gallery: str = "auto",
    wanted: float | None = None,
) -> None:
    """Write the page; pictures of real people are shown only when asked for."""
    log = evaluation.settings.log
    shown = show_pictures(data, gallery)
    errors = [
        _part("False alarms with the highest scores", worst_false_alarms(evaluation), data, evaluation, shown),
        _part("Faces missed, the closest first", missed_faces(evaluation), data, evaluation, shown),
    ]
    target = wanted if wanted is not None else middle(evaluation)
    calibration = calibrate(evaluation, target).sentences(evaluation.alarms) if len(evaluation.negatives) else []
    verdict = None
    if by and len(evaluation.negatives):
        found = compare_groups(evaluation, by, target / evaluation.scale)
        verdict = {"name": found.verdict, "reason": found.reason, "target": f"{target:g}"}
    charts = group_charts(evaluation, by, log=log)
    content = render.page(
        render.template(TEMPLATES, "page.html.j2"),
        title=f"{evaluation.kind}: {evaluation.label}",
        lead=(
            f"{evaluation.found} of {evaluation.total} {evaluation.unit} in {evaluation.images} images are found at "
            f"the lowest threshold, with {len(evaluation.negatives)} {evaluation.alarms}."
        ),
        warnings=evaluation.warnings,
        plot=drawn(chart_of([evaluation], log=log, band=evaluation.band is not None), "curve"),
        group_plots=[{"name": name, **drawn(chart, f"by-{k}")} for k, (name, chart) in enumerate(charts.items())],
        least=FEW,
        per_image=" (per image)" if evaluation.version == 3 else "",
        points=[
            {"name": p.group if p.attribute == EVERYBODY else f"{p.attribute}: {p.group}", **vars(p)}
            for p in operating_points(evaluation, by)
        ],
        verdict=verdict,
        calibration=calibration,
        note="" if shown else "The pictures show real people, so none is shown; --gallery full shows them.",
        errors=errors,
        version=countenance.__version__,
        source=evaluation.scores.path.name,
        protocol=evaluation.protocol.path.name,
    )
    render.write(path, content)


def _part(name: str, mistakes: list[Mistake], data: Path, evaluation: Evaluation, shown: bool) -> dict[str, Any]:
    entries = []
    for one in mistakes:
        uri = Markup(picture(data, evaluation, one) or "") if shown else None  # noqa: S704 - base64, made by us
        alt = f"{one.kind} in {one.image}: {one.said}"
        entries.append(
            {"uri": uri, "said": one.said, "score": one.score, "cost": one.cost, "image": one.image, "alt": alt}
        )
    return {"name": name, "list": entries}
