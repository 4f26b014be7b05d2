"""How the verdict was reached, in plain words with the settings that were used; and how to repeat it."""

import shlex
from collections.abc import Mapping
from typing import Any

from countenance.auditing.headline import deltas_of
from countenance.report import numbers, words

COMPARISONS = {
    "rest": "Each group is compared with everyone else; an attribute with two values is one comparison.",
    "pairs": "Every two groups of an attribute are compared with each other.",
    "reference": "Each group is compared with a reference group.",
    "spread": (
        "For each attribute, the best group minus the worst is compared with what shuffled labels give: "
        "even a fair model shows some spread."
    ),
    "paired": "The same rows are compared under two conditions, pair by pair.",
}


def paragraphs(settings: Mapping[str, Any], tested: int, *, points: bool = True) -> list[tuple[str, str]]:
    """Headed paragraphs that explain the statistics; `points`: gaps are of percentages."""
    alpha, delta = float(settings.get("alpha", 0.05)), words.gap_words(settings, points=points)
    power, min_n = float(settings.get("power", 0.8)), int(settings.get("min_n", 20))
    h0 = float(settings.get("h0", 0.2))
    level = f"{100 * (1 - alpha):g} %"
    many = words.cluster_noun(settings)[1]
    larger, no_gap = "", ""
    if words.is_sized(settings):
        larger = f", and the difference is not shown to be smaller than {delta}"
        no_gap = (
            f"No gap of {delta} or more: the {100 * (1 - 2 * alpha):g} % interval of the difference lies within that; "
            "a smaller difference may still be real, and then the page says so. "
        )
    return [
        (
            "Numbers",
            "A rate is a share of rows, a mean the average of a score. Each number stands with its own n, the "
            "rows it was computed from; a group without rows has no number, never 0 or 1.",
        ),
        ("What is independent", independence(settings)),
        (
            "Intervals",
            f"The range after a number is its {level} interval: ranges made this way contain the true value "
            f"in about {level} of such studies. Rates: Wilson’s interval on the rows divided by their "
            "design effect (at least 1, and at least what the correlation within clusters implies). Means: "
            "cluster-robust t. Few or very unequal clusters count as few.",
        ),
        (
            "Comparisons",
            f"{COMPARISONS.get(str(settings.get('comparison', 'rest')), '')} Groups are formed by exact "
            f"values, and by intersections of up to {settings.get('depth', 2)} attributes.",
        ),
        ("Many comparisons", f"Test often enough and chance will hand you a finding. {correction(settings, tested)}"),
        (
            "Verdicts",
            f"Served worse (a disparity): the adjusted p is below {alpha:g}{larger}; a filled mark when the effect is "
            f"also larger than {h0:g} (Cohen’s h for rates, rank-biserial correlation for means), else an open one. "
            f"{no_gap}"
            f"Too few {many} to test: a side has fewer than {min_n}. Not enough {many} to tell: "
            "everything else; it clears nobody. The verdict of the whole is the worst of them, and nobody is "
            "cleared while a group of an attribute that was named was not tested.",
        ),
        (
            "What could have been seen",
            f"A smallest gap is the difference that these sizes would have found "
            f"{100 * power:g} % of the time, after the correction. How many more "
            f"{many} it takes is counted for the smallest difference that matters.",
        ),
    ]


def independence(settings: Mapping[str, Any]) -> str:
    """The sentence on what was taken as independent."""
    noun, many = words.cluster_noun(settings)
    unit = f"Here: {words.unit_words(str(settings['unit']))}." if settings.get("unit") else ""
    if not settings.get("ways", settings.get("cluster")):
        return unit or "Rows were taken as independent."
    return (
        f"Rows of the same {noun} are not independent, so every interval and test counts {many}, not rows: ten "
        f"pictures of one person say less than ten people. {unit}"
    ).strip()


def correction(settings: Mapping[str, Any], tested: int) -> str:
    """The sentence on how many comparisons were accounted for."""
    alpha, adjust = float(settings.get("alpha", 0.05)), settings.get("adjust", "holm")
    many = numbers.plural(tested, "test")
    if adjust == "minp":
        many_units = words.cluster_noun(settings)[1]
        return (
            f"All labels were shuffled between {many_units} {int(settings['permutations']):,} times, and the {many} "
            "computed again each time: the adjusted p of a finding is how often any of them is as clear by chance "
            f"(step-down min-p). The chance of even one false alarm stays below {alpha:g}, as with Holm’s correction, "
            "but comparisons that say nearly the same thing are not corrected for twice."
        )
    why = f" Min-p was not used: {settings['adjust_why']}." if settings.get("adjust_why") else ""
    if adjust == "bh":
        return (
            "The Benjamini–Hochberg correction keeps the expected share of false alarms among the reported "
            f"differences below {alpha:g}; {many} were made."
        )
    return f"Holm’s correction keeps the chance of even one false alarm among {many} below {alpha:g}.{why}"


DEFAULTS = {"alpha": 0.05, "min_n": 20, "seed": 0, "h0": 0.2, "power": 0.8}


def commands(manifest: Mapping[str, Any], settings: Mapping[str, Any], gallery: str) -> list[str]:
    """The commands that make this page again; without a known folder they call it RUN."""
    lines = []
    source, typed = manifest["dataset"].get("source"), str(manifest.get("command") or "")
    folder = "RUN"
    if typed.startswith("countenance "):
        lines.append(typed)
        folder = _folder(typed) or folder
    elif source is not None and manifest.get("engine", {}).get("workers"):  # no workers: an external program
        task = manifest.get("task_source") or manifest["task"]
        run = ["countenance", "run", task, "--model", manifest["model"]["name"], "--data", source]
        run += ["--out", folder, "--batch", manifest.get("batch", 8), "--seed", manifest.get("seed", 0)]
        if manifest.get("limit") is not None:
            run += ["--limit", manifest["limit"]]
        if manifest["dataset"].get("categories"):
            run += ["--categories", manifest["dataset"]["categories"]]
        boxes = manifest.get("boxes") or {"form": "xyxy", "units": "px"}
        if boxes != {"form": "xyxy", "units": "px"}:
            run += ["--boxes", boxes["form"], "--units", boxes["units"]]
        lines.append(_line(run))
    lines.append(_line(["countenance", "audit", folder, *audit_options(settings)]))
    lines.append(_line(["countenance", "report", folder, *([] if gallery == "auto" else ["--gallery", gallery])]))
    return lines


def audit_options(settings: Mapping[str, Any]) -> list[str]:
    """The options of `countenance audit` that make an audit again.

    >>> audit_options({"by": ["age:18,40"], "metrics": ["ok"], "where": {"light": ["dim"]}, "adjust": "holm"})
    ['--by', 'age:18,40', '--metric', 'ok', '--where', 'light=dim', '--adjust', 'holm']
    """
    options = ["--by", ",".join(settings.get("by", [])), "--metric", ",".join(settings.get("metrics", []))]
    for name, values in (settings.get("where") or {}).items():
        options += ["--where", f"{name}={','.join(values)}"]
    if settings.get("comparison", "rest") != "rest":
        options += ["--comparison", settings["comparison"]]
    usual = 1 if settings.get("crosses") or settings.get("comparison") == "paired" else 2
    if len(settings.get("by", [])) > 1 and settings.get("depth", usual) != usual:
        options += ["--depth", settings["depth"]]
    for name, default in DEFAULTS.items():
        if settings.get(name, default) != default:
            options += [f"--{name.replace('_', '-')}", settings[name]]
    deltas = {name: delta for name, delta in deltas_of(settings).items() if delta not in (None, 0.05)}
    if deltas:
        options += ["--delta", ",".join(f"{name}={delta:g}" for name, delta in deltas.items())]
    lower = [name for name, way in (settings.get("better") or {}).items() if way == "lower"]
    if lower:
        options += ["--better", ",".join(f"{name}=lower" for name in lower)]
    adjustment = settings.get("adjust_asked", settings.get("adjust", "minp"))
    if adjustment != "minp":
        options += ["--adjust", adjustment]
    if isinstance(settings.get("reference"), str):
        options += ["--reference", settings["reference"]]
    if settings.get("pair"):
        options += ["--pair", ",".join(settings["pair"])]
    families = settings.get("families")
    if families:
        named = isinstance(families, Mapping)
        text = ";".join(f"{k}={','.join(v)}" for k, v in families.items()) if named else families
        options += ["--families", text if isinstance(text, str) else ",".join(text)]
    cluster = settings.get("cluster", "auto")
    if cluster is None:
        options += ["--cluster", "none"]
    elif cluster != "auto" and " else " not in cluster:
        options += ["--cluster", cluster if isinstance(cluster, str) else ",".join(cluster)]
    return [str(option) for option in options]


def _line(parts: list[Any]) -> str:
    return shlex.join(str(part) for part in parts)


def _folder(typed: str) -> str | None:
    """The run directory that a command line names.

    >>> _folder("countenance run face_localization --out out/x --seed 1")
    'out/x'
    """
    parts = shlex.split(typed)
    for here, after in zip(parts, [*parts[1:], ""], strict=True):
        if here == "--out":
            return after or None
        if here.startswith("--out="):
            return here.removeprefix("--out=") or None
    return None
