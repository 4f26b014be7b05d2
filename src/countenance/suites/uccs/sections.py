"""The report's sections on the challenge: operating points, the choice of a threshold, the cost of errors."""

from pathlib import Path

from markupsafe import Markup

from countenance.errors import InputError
from countenance.report import gallery, render
from countenance.report.draw.svg.curves import drawn
from countenance.report.source import ReportSource
from countenance.run.suite import Section
from countenance.suites.uccs.calibration import calibrate
from countenance.suites.uccs.errors import missed_faces, picture, worst_false_alarms
from countenance.suites.uccs.evaluation import UccsEvaluation
from countenance.suites.uccs.operating import FEW, middle, operating_points, unlike_groups
from countenance.suites.uccs.plot import group_charts
from countenance.suites.uccs.run import evaluation_again

TEMPLATES = Path(__file__).parent


def sections(source: ReportSource) -> list[Section]:
    """The sections of the report; without the dataset, one section that says why they are missing."""
    try:
        evaluation, dataset = evaluation_again(source.run)
    except (InputError, OSError) as error:
        return [("challenge", "Operating points and errors", f"<p>Not shown: {Markup.escape(error)}.</p>")]
    by = [name for name in source.audit.settings.get("by", []) if _divides(evaluation, name)]
    mode = gallery.mode_for(source.gallery, dataset.card.real_people)
    errors = {
        "False alarms with the highest scores": worst_false_alarms(evaluation),
        "Faces missed, the closest first": missed_faces(evaluation),
    }
    samples = {sample.id: sample for sample in dataset}
    charts = group_charts(evaluation, by)
    template = render.template(TEMPLATES, "sections.html.j2").module
    content = {
        "operating": template.operating(
            evaluation,
            operating_points(evaluation, by),
            FEW,
            [{"name": name, **drawn(chart, f"by-{k}")} for k, (name, chart) in enumerate(charts.items())],
            unlike_groups(evaluation, by),
        ),
        "threshold": template.threshold(
            calibrate(evaluation, middle(evaluation)).sentences(evaluation.alarms) if len(evaluation.negatives) else []
        ),
        "errors": template.errors(
            gallery.why_off(source.gallery) if mode == "off" and source.gallery == "auto" else "",
            {
                name: [
                    (mistake, None if mode == "off" else picture(samples[mistake.name], evaluation, mistake, mode))
                    for mistake in some
                ]
                for name, some in errors.items()
            },
        ),
    }
    titles = ("Operating points", "Choosing a threshold", "What the errors cost")
    return [
        (f"challenge-{key}", title, content[key]) for key, title in zip(content, titles, strict=True) if content[key]
    ]


def _divides(evaluation: UccsEvaluation, name: str) -> bool:
    """Whether an attribute divides the units into two or more groups."""
    values = evaluation.protocol.attributes.get(name, [])
    return bool(values) and len({values[face] for face in evaluation.unit_face.tolist()}) > 1
