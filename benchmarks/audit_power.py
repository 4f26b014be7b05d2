"""How often the audit finds one group that is served worse, on the embedded people: min-p against Holm.

    make demo
    python benchmarks/audit_power.py out/demo --tables 100 --jobs 2 --json power.json

Each table is the demo's with the scores of its people exchanged, so that it is fair; then one skin tone (20 people)
loses .07 of its average recall. The comparisons are the demo's: four attributes and their intersections, two metrics.
"""

from __future__ import annotations

import argparse
import json
import math
import multiprocessing
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from countenance.auditing import audit

BY = ["skin_tone", "age_group", "gender", "masked"]
METRICS = ["recall@0.5", "average_recall"]


def scores(run: Path) -> dict[str, np.ndarray]:
    """The rows of the demo that have scores, by person."""
    columns = ["identity", *(f"attr.{name}" for name in BY), *(f"m.{name}" for name in METRICS)]
    table = pq.read_table(run / "scores.parquet", columns=columns).to_pydict()
    known = np.array([value is not None for value in table["m.average_recall"]])
    order = np.argsort(np.array(table["identity"])[known], kind="stable")
    return {
        name.split(".", 1)[-1] if name.startswith("attr.") else name.removeprefix("m."): np.array(values)[known][order]
        for name, values in table.items()
    }


def unfair(table: dict[str, np.ndarray], shift: float, rng: np.random.Generator) -> tuple[dict[str, Any], str]:
    """The table with its people's scores exchanged, and one tone that loses `shift`; and that tone."""
    people, rows = np.unique(table["identity"], return_counts=True)
    if len(set(rows.tolist())) > 1:
        raise SystemExit("people have unlike numbers of rows: their scores cannot be exchanged")
    each = int(rows[0])
    places = np.arange(len(table["identity"])).reshape(len(people), each)[rng.permutation(len(people))]
    places = rng.permuted(places, axis=1).ravel()
    made = table | {name: table[name].astype(float)[places] for name in METRICS}
    tone = str(rng.choice(np.unique(table["skin_tone"])))
    hit = table["skin_tone"] == tone
    made["average_recall"] = np.where(hit, np.maximum(made["average_recall"] + shift, 0.0), made["average_recall"])
    return made, tone


def one(job: tuple[str, float, int]) -> dict[str, bool]:
    """Whether each adjustment finds the tone in one table, and whether it flags anything that is fair."""
    run, shift, seed = job
    table, tone = unfair(scores(Path(run)), shift, np.random.default_rng(seed))
    told = {}
    for adjust in ("holm", "minp"):
        found = audit(table, BY, METRICS, depth=2, adjust=adjust, seed=seed).findings
        low = [f for f in found if f.p_adjusted < 0.05]
        told[adjust] = any(f.group == tone and f.metric == "average_recall" for f in low)
        told[f"{adjust} elsewhere"] = any(tone not in f.group or f.metric != "average_recall" for f in low)
    return told


def main() -> None:
    """Print the shares."""
    parser = argparse.ArgumentParser(description="Power for one skin tone of the embedded people.")
    parser.add_argument("run", help="the demo's run directory")
    parser.add_argument("--tables", type=int, default=40)
    parser.add_argument("--shift", type=float, default=-0.07)
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args()
    with multiprocessing.Pool(asked.jobs) as pool:
        told = pool.map(one, [(asked.run, asked.shift, seed) for seed in range(asked.tables)], chunksize=1)
    shares = {name: float(np.mean([row[name] for row in told])) for name in told[0]}
    found = {
        name: {"share": share, "se": math.sqrt(share * (1 - share) / asked.tables)} for name, share in shares.items()
    }
    print(json.dumps({"shift": asked.shift, "tables": asked.tables, **found}, indent=1))
    if asked.json:
        asked.json.write_text(json.dumps({"shift": asked.shift, "tables": asked.tables, **found}, indent=1) + "\n")


if __name__ == "__main__":
    main()
