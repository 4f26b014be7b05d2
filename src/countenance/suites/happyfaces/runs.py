"""Converts between runs and records of evaluations.

The record of an evaluation (what `run --json` writes) is read from its run, so that a sweep reads runs and a purge
updates every number that depends on a photo.
"""

from countenance.run.early_stop import DECLINED
from countenance.run.run import Run
from countenance.suites.happyfaces.scores import Record
from countenance.suites.happyfaces.task import PARTS, USES_BATCH
from countenance.tasks.results import Number, Table


def record_of(run: Run) -> Record:
    """The record of an evaluation, from its run."""
    manifest, notes = run.manifest, run.fit_notes()
    options = manifest.options
    record: Record = {
        "method": options["method"],
        "mix_rate": options["mix_rate"],
        "seed": options["seed"],
        "options": options["method_options"],
        "answered": True,
        "notes": notes.get("notes", {}),
        "seconds": manifest.seconds or 0.0,
        "cpu_seconds": notes.get("cpu_seconds", 0.0),
        "data": manifest.dataset.fingerprint,
        "data_notes": manifest.dataset.notes,
        "real_people": manifest.dataset.card.real_people,
        "version": manifest.countenance,
    }
    declined = [
        row["reason"] for row in run.failures().select(["kind", "reason"]).to_pylist() if row["kind"] == DECLINED
    ]
    if declined:
        return record | {"answered": False, "reason": declined[0]}
    results = {result.name: result for result in run.results()}
    share = results.get(USES_BATCH)
    record["uses_batch"] = isinstance(share, Number) and share.value > 0
    named = results.get("heads")
    if isinstance(named, Table):
        record["ways"] = [int(str(head).removeprefix("head ")) - 1 for _, head in named.rows]
    return record | _parts(results)


def _parts(results: Record) -> Record:
    """Accuracies of every part, as the run's results have them."""
    parts: Record = {"validation": None, "not_drawn": None}
    by_type = results.get("accuracy by type")
    for part, label in PARTS.items():
        worst = results.get(f"worst head, {label}")
        if not isinstance(worst, Number) or not isinstance(by_type, Table):
            continue
        heads: Record = {}
        for photos, feature, kind, accuracy in by_type.rows:
            if photos == label and kind == "all":
                heads[str(feature)] = {"accuracy": accuracy, "by_type": {}}
            elif photos == label:
                heads[str(feature)]["by_type"][kind] = accuracy
        parts[part] = {"photos": worst.n, "worst_head": worst.value, "heads": heads}
    return parts
