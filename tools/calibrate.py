"""Write src/countenance/calibration.json: every promise of the audit, simulated.

    python tools/calibrate.py --tables 200 --jobs 16     # every line again
    python tools/calibrate.py --tables 60                # only lines whose code has changed since they were drawn
    python tools/calibrate.py --tables 60 --all
    python tools/calibrate.py --check                    # before a release: fails where lines are of older code

Lines are those of `benchmarks/calibration.py`. A line is drawn again when the code that it simulates has changed.
"""

import argparse
import ast
import hashlib
import json
import multiprocessing
import re
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "benchmarks"))
import calibration as simulated  # noqa: E402

OUT = ROOT / "src" / "countenance" / "calibration.json"
SURFACES = {
    "adjusted p": ("countenance.auditing.audit.audit", "countenance.auditing.audit.audited"),
    "interval": (
        "countenance.auditing.audit.estimates",
        "countenance.auditing.levels.estimates_at",
        "countenance.auditing.estimates.wilson",
        "countenance.auditing.estimates.wilson_limits",
        "countenance.auditing.estimates.clopper_pearson_limits",
        "countenance.auditing.estimates.interval",
        "countenance.auditing.estimates.bootstrap",
        "countenance.auditing.effects.mover",
        "countenance.auditing.ratio.mover_r",
        "countenance.auditing.ranking.numerical_bootstrap",
    ),
    "detectable effect and plan": (
        "countenance.auditing.power.detectable_rate",
        "countenance.auditing.plan.plan",
        "countenance.gating.sample_sizes.units_for_rate",
        "countenance.gating.sample_sizes.units_for_distance",
    ),
    "all-clear": ("countenance.auditing.verdict.concluded",),
    "compare": (
        "countenance.comparing.comparison.compare",
        "countenance.comparing.changes.overall",
        "countenance.comparing.changes.by_group",
        "countenance.comparing.changes.paired_findings",
        "countenance.comparing.gaps.gaps",
        "countenance.auditing.change.tango_limits",
    ),
    "ranking": (
        "countenance.auditing.ranking.rank_paired",
        "countenance.auditing.ranking.rank_against_best",
        "countenance.auditing.ranking.ranked",
        "countenance.comparing.leaderboard.leaderboard",
        "countenance.suites.bias_bounty.scoring.score_intervals",
        "countenance.suites.bias_bounty.rules.randomness.randomness",
    ),
    "gate": ("countenance.gating.judgement.gate",),
    "gate, any time": ("countenance.metrics.any_time.any_time_lower_bound",),
    "held equal": ("countenance.auditing.held_equal_gaps.given_findings",),
    "discover": ("countenance.discovering.discovery.discover", "countenance.discovering.discovery.discover_run"),
    "equity": ("countenance.metrics.equity_measures.widened_measure",),
    "rates and curves": (
        "countenance.metrics.intervals.wilson",
        "countenance.metrics.intervals.clustered_rate",
        "countenance.metrics.intervals.clustered_mean",
        "countenance.metrics.intervals.macro_mean",
        "countenance.metrics.pairs.distributions.dyadic_mean",
        "countenance.metrics.pairs.groups.fnmr_by_group",
        "countenance.metrics.intervals.bootstrap_interval",
        "countenance.metrics.curves.bands.band_of",
        "countenance.metrics.identification.open_set_curve",
        "countenance.metrics.verification_bands.roc_bands",
        "countenance.metrics.detection.average_precisions",
        "countenance.metrics.miss_rate.log_average_miss_rates",
    ),
}
"""What is simulated, and the functions behind it."""
WORDS = {
    "countenance.auditing.cautions.zero_inside": "adds a note to findings",
    "countenance.auditing.given_finding.read_given": "reads what was stored",
    "countenance.auditing.headline.by_weight": "orders findings",
    "countenance.auditing.headline.failing": "picks a stored estimate",
    "countenance.auditing.headline.leading": "picks a finding",
    "countenance.auditing.headline.which_interval": "names an interval in words",
    "countenance.auditing.interval_groups.interval_of": "reads an age group from its name",
    "countenance.auditing.interval_groups.intervals_of": "reads age groups from their names",
    "countenance.suites.bias_bounty.pairing.rank_predictions": "calls auditing.ranking.rank_against_best",
    "countenance.suites.bias_bounty.pairing.score_difference": "calls auditing.ranking.rank_against_best",
    "countenance.suites.bias_bounty.pairing.change_of": "picks a pair of a ranking",
    "countenance.suites.bias_bounty.pairing.compare_predictions": "calls comparing.comparison.compare",
    "countenance.suites.mask_fairness.comparison.compare": "calls comparing.changes.paired_findings",
    "countenance.suites.uccs.comparison.compare": "calls auditing.ranking.rank_paired",
    "countenance.suites.uccs.operating.shares": "calls auditing.audit.estimates",
}
"""Functions whose names or types look like an interval or a verdict and that compute none themselves."""
COUNTS = {"alarms": "adjusted p", "covers": "interval", "covers_own": "interval", "finds": "detectable effect and plan"}


@cache
def code_hash(surface: str) -> str:
    """One hash of the code behind a surface: its functions' modules and all of the package's modules that these import.

    Comments, docstrings and indentation do not count; the same source has the same hash in every version of Python.
    """
    digest = hashlib.sha256()
    for module in sorted(_reached({name.rpartition(".")[0] for name in SURFACES[surface]})):
        digest.update(_code(_path(module)).encode())
    return digest.hexdigest()[:16]


@cache
def _code(path: Path) -> str:
    """The lines of a module without docstrings, comments that have a line to themselves, and spaces around."""
    text = path.read_text(encoding="utf-8")
    silent: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            silent |= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    lines = [line.strip() for number, line in enumerate(text.splitlines(), 1) if number not in silent]
    return "\n".join(line for line in lines if line and not line.startswith("#"))


def _path(module: str) -> Path:
    base = ROOT / "src" / Path(*module.split("."))
    return base.with_suffix(".py") if base.with_suffix(".py").exists() else base / "__init__.py"


def _reached(modules: set[str]) -> set[str]:
    """Modules of the statistics that some modules import, directly or not, with these themselves."""
    seen: set[str] = set()
    waiting = sorted(modules)
    while waiting:
        module = waiting.pop()
        if module in seen or not _path(module).exists():
            continue
        seen.add(module)
        waiting += _imported(module)
    return seen


@cache
def _imported(module: str) -> list[str]:
    """What a module imports of the statistics: modules, and names that may be modules."""
    imported: list[str] = []
    for node in ast.walk(ast.parse(_path(module).read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[:1] == ["countenance"]:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
            imported += [name for name in (node.module, *names) if name.split(".")[1:2] and _statistics(name)]
    return imported


def _statistics(module: str) -> bool:
    return module.split(".")[1] in ("auditing", "comparing", "discovering", "gating", "metrics")


def surface_of(line: Any) -> str:
    """What a line is about: as it says, or from how it counts."""
    if line.surface:
        return str(line.surface)
    name = getattr(line.share, "func", line.share).__name__
    return COUNTS.get(name, "all-clear" if name in ("clears", "largest_exact_size", "nobody_worse") else "adjusted p")


def kind_of(line: Any) -> tuple[str, float]:
    """level, coverage or power, and what is promised."""
    low, high = line.wanted
    if low >= 0.9:
        return "coverage", 0.95
    return ("level", high) if low == 0 else ("power", round((low + high) / 2, 3))


def sizes(line: Any) -> tuple[int, int]:
    """People (rows where nobody is named) and groups of one table of the line, else as its name says; 0: unknown."""
    arguments = (*getattr(line.share, "args", ()), *getattr(line.share, "keywords", {}).values())
    make = next((part for part in arguments if isinstance(part, Callable)), None)  # type: ignore[arg-type]
    try:
        table = make(np.random.default_rng(0))  # type: ignore[misc]
        column = next(iter(table.values()))
        people = {str(person) for person in table["identity"]} if "identity" in table else column
        names = [name for name in ("a0", "g", "few", "c", "l", "w0") if name in table]
        groups = len(set(map(str, table[names[0]]))) if names else 0
        return len(people), groups
    except (TypeError, KeyError, StopIteration, AttributeError):
        return sizes_in_words(line.name)


def sizes_in_words(name: str) -> tuple[int, int]:
    """People and groups that the name of a line states.

    >>> sizes_in_words("rate 0.9, 100 against 300 people, rows 1: holm"), sizes_in_words("normal, 4 groups")
    ((400, 2), (0, 4))
    """
    number = r"(\d[\d,]*)"
    sides = re.search(rf"{number} against {number} people", name)
    people = sides or re.search(rf"{number} people(?! a group)", name)
    groups = re.search(rf"{number} groups", name)
    count = sum(int(side.replace(",", "")) for side in people.groups()) if people else 0
    return count, int(groups[1]) if groups else 2 if sides else 0


def draw(index: int, tables: int, seed: int | None = None) -> dict[str, Any]:
    """One line, simulated; a line whose simulation fails has only its process and the problem.

    A line that is drawn again keeps its seed, also under a new name.
    """
    line = simulated.lines()[index]
    seed = line.seed if seed is None else seed
    try:
        value, error, count = line.run(tables, seed)
    except Exception as problem:  # the other lines are worth their hours
        return {"process": f"{line.section}: {line.name}", "problem": repr(problem)}
    kind, nominal = kind_of(line)
    people, groups = sizes(line)
    surface = surface_of(line)
    return {
        "surface": surface,
        "process": f"{line.section}: {line.name}",
        "n": people,
        "groups": groups,
        "kind": kind,
        "nominal": nominal,
        "value": round(value, 4),
        "se": round(error, 4),
        "tables": count,
        "seed": seed,
        "code": code_hash(surface),
    }


def _draw(job: tuple[int, int, int | None]) -> dict[str, Any]:
    return draw(*job)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", type=int, default=60)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--all", action="store_true", help="draw lines again whose code has not changed")
    parser.add_argument("--only", default="", help="lines whose process has this text")
    parser.add_argument("--check", action="store_true", help="draw nothing; fail where lines are of other code")
    options = parser.parse_args()
    if options.check:
        sys.exit(check(json.loads(OUT.read_text())["lines"]))
    known = {line["process"]: line for line in json.loads(OUT.read_text())["lines"]} if OUT.exists() else {}
    every = simulated.lines()
    surface = {f"{line.section}: {line.name}": surface_of(line) for line in every}
    lines = list(surface)
    due = [
        index
        for index, process in enumerate(lines)
        if options.only in process
        and (options.all or process not in known or known[process]["code"] != code_hash(surface[process]))
        and "must be more" not in process
    ]
    # Weakest first, and never with fewer tables than before: an interrupted run has improved what needed it most.
    before = {index: round(known.get(lines[index], {}).get("tables", 0) / (every[index].weight or 1)) for index in due}
    due.sort(key=lambda index: before[index])
    jobs = [(index, max(options.tables, before[index]), known.get(lines[index], {}).get("seed")) for index in due]
    with multiprocessing.Pool(options.jobs) as pool:
        for done, line in enumerate(pool.imap_unordered(_draw, jobs), 1):
            if "problem" in line:
                print(f"{done} of {len(due)}: {line['process']} FAILED: {line['problem']}", flush=True)
                continue
            known[line["process"]] = line
            _write([known[process] for process in lines if process in known])
            print(f"{done} of {len(due)}: {line['process']} {line['value']} ± {line['se']}", flush=True)


def check(lines: Sequence[dict[str, Any]]) -> str | None:
    """The surfaces whose lines were drawn with other code than today's; None where there are none."""
    stale = Counter(line["surface"] for line in lines if line["code"] != code_hash(line["surface"]))
    named = ", ".join(f"{surface} ({count})" for surface, count in sorted(stale.items()))
    return f"{OUT.name}: lines of other code: {named}; python {Path(__file__).name} draws them again" if stale else None


def _write(lines: list[dict[str, Any]]) -> None:
    rows = ",\n".join("    " + json.dumps(line, ensure_ascii=False) for line in lines)
    OUT.write_text(f'{{\n  "version": 1,\n  "lines": [\n{rows}\n  ]\n}}\n', encoding="utf-8")


if __name__ == "__main__":
    main()
