"""One page about one submission: its curve, its groups, its operating points, its errors and what they cost."""

from collections.abc import Sequence
from pathlib import Path

import countenance
from countenance.report import gallery, render
from countenance.suites.uccs.calibration import calibrate
from countenance.suites.uccs.errors import missed_faces, picture, worst_false_alarms
from countenance.suites.uccs.evaluation import UccsEvaluation
from countenance.suites.uccs.operating import FEW, compare_groups, middle, operating_points
from countenance.suites.uccs.plot import chart_of, drawn, group_charts
from countenance.suites.uccs.protocol import real_people

TEMPLATES = Path(__file__).parent


def write_page(
    found: UccsEvaluation, data: Path, path: Path, *, by: Sequence[str] = (), pictures: str = "auto"
) -> None:
    """Write the page; pictures of real people are shown only when asked for."""
    real, target = real_people(data), middle(found)
    mode = gallery.mode_for(pictures, real)
    errors = {
        "False alarms with the highest scores": worst_false_alarms(found),
        "Faces missed, the closest first": missed_faces(found),
    }
    content = render.page(
        render.template(TEMPLATES, "page.html.j2"),
        found=found,
        real=real,
        plot=drawn(chart_of([found], band=found.band is not None), "curve"),
        group_plots=[
            {"name": name, **drawn(chart, f"by-{k}")} for k, (name, chart) in enumerate(group_charts(found, by).items())
        ],
        least=FEW,
        points=operating_points(found, by),
        target=f"{target:g}",
        verdict=compare_groups(found, by, target / found.scale) if by and len(found.negatives) else None,
        calibration=calibrate(found, target).sentences(found.alarms) if len(found.negatives) else [],
        note=gallery.why_off(pictures) if mode == "off" else "",
        errors={
            name: [
                (one, None if mode == "off" else picture(data, found, one, blurred=mode == "blurred")) for one in some
            ]
            for name, some in errors.items()
        },
        version=countenance.__version__,
    )
    render.write(path, content)
