"""How the verdict came about, in plain words with the settings that were used; and how to do it again."""

import shlex
from collections.abc import Mapping
from typing import Any

from countenance.report import words

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


def paragraphs(settings: Mapping[str, Any], tested: int) -> list[tuple[str, str]]:
    """Headed paragraphs that explain the statistics."""
    alpha, delta = float(settings.get("alpha", 0.05)), float(settings.get("delta", 0.05))
    power, min_n = float(settings.get("power", 0.8)), int(settings.get("min_n", 20))
    h0 = float(settings.get("h0", 0.2))
    level = f"{100 * (1 - alpha):g} %"
    one, many = words.cluster_noun(settings)
    cluster = settings.get("cluster")
    together = (
        f"Rows of the same {one} are not independent, so every interval and test counts {many}, not rows: "
        "ten pictures of one person say less than ten people."
        if cluster
        else "Rows were taken as independent, because the audit was asked to (cluster none)."
    )
    correction = (
        f"Holm’s correction keeps the chance of even one false alarm among all {tested:,} tests below {alpha:g}."
        if settings.get("adjust", "holm") == "holm"
        else f"The Benjamini–Hochberg correction keeps the expected share of false alarms among the reported "
        f"differences below {alpha:g}; {tested:,} tests were made."
    )
    return [
        ("Numbers", "A rate is a share of rows, a mean the average of a score. Each number stands with its own n, the "
                    "rows it was computed from; a group without rows has no number, never 0 or 1."),
        ("Intervals", f"The range after a number is its {level} interval: ranges made this way contain the true value "
                      f"in {level} of such studies. Rates: Wilson’s interval on the rows divided by their "
                      f"design effect (at least 1: where no two failures fall on one {one}, all rows count). Means: "
                      f"cluster-robust t. {together}"),
        ("Comparisons", f"{COMPARISONS.get(str(settings.get('comparison', 'rest')), '')} Groups are formed by exact "
                        f"values, and by intersections of up to {settings.get('depth', 2)} attributes."),
        ("Many comparisons", f"Who looks often enough finds something by chance. {correction}"),
        ("Verdicts", f"Disparity: the adjusted p is below {alpha:g}; severe when the effect is also larger than "
                     f"{h0:g} (Cohen’s h for rates, rank-biserial correlation for means), else minor. "
                     f"None larger than {delta:g}: two one-sided tests both exclude a difference of {delta:g} or more; "
                     "they are one-sided, rest on the difference’s standard error and are not corrected for "
                     "many comparisons, so the two-sided "
                     f"interval printed beside them may reach past {delta:g}. "
                     f"Untestable: a side has fewer than {min_n} {many}, or no variation. "
                     "Insufficient evidence: everything else; it is not an acquittal. The verdict of the whole is the "
                     "worst of them."),
        ("What could have been seen", f"A smallest gap is the difference that these sizes would have found "
                                      f"{100 * power:g} % of the time, after the correction."),
    ]  # fmt: skip


def commands(manifest: Mapping[str, Any], settings: Mapping[str, Any], gallery: str) -> list[str]:
    """The commands that make this page again; where the folder is not known it is called RUN."""
    lines = []
    source, typed = manifest["dataset"].get("source"), str(manifest.get("command") or "")
    folder = "RUN"
    if typed.startswith("countenance "):
        lines.append(typed)
        folder = _folder(typed) or folder
    elif source is not None and manifest.get("engine", {}).get("workers"):  # no workers: the model lives in a program
        task = manifest.get("task_source") or manifest["task"]
        run = ["countenance", "run", task, "--model", manifest["model"]["name"], "--data", source]
        run += ["--out", folder, "--batch", manifest.get("batch", 8), "--seed", manifest.get("seed", 0)]
        if manifest.get("limit") is not None:
            run += ["--limit", manifest["limit"]]
        if manifest["dataset"].get("categories"):
            run += ["--categories", manifest["dataset"]["categories"]]
        boxes = manifest.get("boxes") or {"form": "corners", "units": "pixels"}
        if boxes != {"form": "corners", "units": "pixels"}:
            run += ["--box-format", boxes["form"], "--units", boxes["units"]]
        lines.append(_line(run))
    audit = ["countenance", "audit", folder, "--by", ",".join(settings.get("by", []))]
    audit += ["--metric", ",".join(settings.get("metrics", [])), "--comparison", settings.get("comparison", "rest")]
    defaults = {"depth": 2, "alpha": 0.05, "delta": 0.05, "min_n": 20, "adjust": "holm", "seed": 0}
    for name, default in defaults.items():
        if settings.get(name, default) != default:
            audit += [f"--{name.replace('_', '-')}", settings[name]]
    if isinstance(settings.get("reference"), str):
        audit += ["--reference", settings["reference"]]
    if settings.get("pair"):
        audit += ["--pair", ",".join(settings["pair"])]
    if not settings.get("cluster"):
        audit += ["--cluster", "none"]
    elif " else " not in settings["cluster"]:
        audit += ["--cluster", settings["cluster"]]
    lines.append(_line(audit))
    lines.append(_line(["countenance", "report", folder, *([] if gallery == "auto" else ["--gallery", gallery])]))
    return lines


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
