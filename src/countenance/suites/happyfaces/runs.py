"""An evaluation as a run: a row for each photo that was scored, worst head and accuracies as results.

The record of an evaluation (what `run --json` writes) is read back from its run, so that a sweep reads runs and a
purge changes every number that rests on a photo.
"""

import hashlib
import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import countenance
from countenance.data import ArrayImage, Dataset, Sample, Subject
from countenance.data.card import AttributeCard, DatasetCard
from countenance.errors import InputError
from countenance.models import ModelCard
from countenance.run.manifest import DatasetRecord, Manifest, MetricRecord
from countenance.run.record import record
from countenance.run.run import Run
from countenance.run.store import RESULTS
from countenance.suites.happyfaces.dataset import MATCHED, HappyFaces, Photos, read_happyfaces
from countenance.suites.happyfaces.interface import Floats
from countenance.suites.happyfaces.methods import METHODS, is_code
from countenance.suites.happyfaces.protocol import MixTask, Outcome
from countenance.suites.happyfaces.scores import Record, part_of
from countenance.tasks.results import Number, Result, Table

QUESTION = "Which two features explain one label?"
NAMING = "Heads are assigned to features by validation truth, the better of the two ways, as the benchmark's rule says."
PARTS = {"validation": "validation", "not_drawn": "photos not drawn", "held_back": "photos held back"}
MEANINGS = {
    "part": "where the photo comes from: validation, or the unlabelled photos that the run did not draw",
    "type": "F(ace) H(appy) or S(ad), W(riting) H(APPY) or S(AD)",
    "agree": "whether both features say the same, as they do in every labelled photo",
}


def store(place: Path, data: HappyFaces, task: MixTask, outcome: Outcome, source: str | Path) -> Run:
    """Store an evaluation as a run."""
    import pyarrow as pa

    told, code, print_ = outcome.record, _code(task), data.fingerprint()
    failures: list[dict[str, Any]] = []
    if told["answered"]:
        rows: Any = [row for part, seen in outcome.parts.items() for row in _rows(part, *seen, told["ways"], data)]
    else:
        ids = data.validation.ids("validation")
        failures = [{"sample": name, "kind": "model", "reason": told["reason"], "people": [name]} for name in ids]
        full = _rows("validation", data.validation, data.validation.truth().astype(np.float64), range(2), data)
        rows = pa.Table.from_pylist(full).schema.empty_table()  # the columns of a row, and no row
    asked = (told["method"], task.mix_rate, task.seed, task.options, print_, code)
    manifest = Manifest(
        suite="happyfaces",
        task="happyfaces",
        question=QUESTION,
        options=dict(task.options),
        metrics=[
            MetricRecord(name=f"{name}_correct", meaning=f"the head of {name} is right about the photo", headline=True)
            for name in data.features
        ],
        model=ModelCard(name=told["method"], description=f"two heads, mix rate {task.mix_rate:g}, seed {task.seed}"),
        dataset=DatasetRecord(card=card_of(data), source=f"happyfaces:{source}", fingerprint=print_),
        seed=task.seed,
        seconds=told["seconds"],
        about={k: v for k, v in told.items() if k not in PARTS} | {"features": list(data.features), "code": code},
        # Equal evaluations replace each other: a method fitted again is the same run, also with other timings.
        key=hashlib.sha256(repr(asked).encode()).hexdigest(),
    )
    results = results_of(told) if told["answered"] else []
    return record(place, manifest, rows, results=results, failures=failures, notes=[NAMING])


def _rows(part: str, photos: Photos, probabilities: Floats, ways: Sequence[int], data: HappyFaces) -> list[Record]:
    right = (probabilities > 0.5)[:, tuple(ways)] == photos.truth()
    ids = photos.ids("unlabelled" if part == "not_drawn" else part)
    return [
        {
            "sample": name, "subject": file, "identity": identity_of(file), "attr.part": part,
            **{f"attr.{k}": v for k, v in attributes_of(tag, data.features).items()},
            **{f"m.{feature}_correct": float(one) for feature, one in zip(data.features, own, strict=True)},
        }
        for name, tag, file, own in zip(ids, photos.tags, photos.names, right, strict=True)
    ]  # fmt: skip


def identity_of(name: str) -> str:
    """Who is in a photo: LFW's files are named after people; otherwise a photo stands for itself.

    >>> identity_of("Ann_Lee_0002.jpg"), identity_of("0001_FHWH.png")
    ('Ann_Lee', '0001_FHWH')
    """
    stem = name.split(".")[0]
    found = re.fullmatch(r"(\D+)_\d{4}(_\D.*)?", stem)
    return found.group(1) if found else stem


def attributes_of(tag: str, features: tuple[str, str]) -> dict[str, str]:
    """What is known about a photo of a type.

    >>> attributes_of("FHWS", ("face", "writing"))
    {'type': 'FHWS', 'agree': 'disagree', 'face': 'happy', 'writing': 'sad'}
    """
    words = {"H": "happy", "S": "sad"} if features == ("face", "writing") else {"H": "yes", "S": "no"}
    agree = "agree" if tag in MATCHED else "disagree"
    return {"type": tag, "agree": agree, features[0]: words[tag[1]], features[1]: words[tag[3]]}


def card_of(data: HappyFaces) -> DatasetCard:
    """The dataset's card."""
    return DatasetCard(
        name="happyfaces",
        description="Labelled photos in which two features agree, unlabelled ones in which some disagree",
        real_people=data.real_people,
        attributes={name: AttributeCard(assigned_by="annotated", meaning=text) for name, text in MEANINGS.items()},
    )


class HappyFacesDataset(Dataset):
    """The photos that runs score, for the pictures of a report."""

    print_: str = ""

    def fingerprint(self) -> str:
        """That of the three sets."""
        return self.print_

    def truth_fingerprint(self) -> str:
        """The same: pictures and labels are arrays of these sets."""
        return self.print_


def load(part: str | None) -> Dataset:
    """The dataset behind `happyfaces:FOLDER`."""
    data = read_happyfaces(Path(part or ""))
    samples = []
    for name, photos in (("validation", data.validation), ("unlabelled", data.unlabelled)):
        height, width = photos.pixels.shape[1:3]
        for id_, tag, file, pixels in zip(photos.ids(name), photos.tags, photos.names, photos.pixels, strict=True):
            subject = Subject(id=file, identity=identity_of(file), attributes=attributes_of(tag, data.features))
            samples.append(Sample(id_, ArrayImage(pixels), width, height, (subject,)))
    made = HappyFacesDataset(card_of(data), samples)
    made.print_ = data.fingerprint()
    return made


@cache
def _own_code() -> str:
    """A hash of the code that methods consist of: a version number does not change with every edit."""
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _code(task: MixTask) -> str | None:
    """What the method's code is; None for code that is not ours, which is run again each time."""
    ours = not is_code(task.method) and task.method in METHODS
    return f"{countenance.__version__} {_own_code()}" if ours else None


def kept_record(place: Path, data: HappyFaces, task: MixTask) -> Record | None:
    """The record of a stored run, when it is of this task, these data and this code; None when it must be made."""
    code = _code(task)
    if not (place / "run.json").is_file() or code is None:
        return None
    try:
        run = Run(place)
        about, print_ = run.manifest.about, run.manifest.dataset.fingerprint
        found = (*(about.get(name) for name in ("code", "method", "options", "mix_rate", "seed")), print_)
        same = found == (code, task.method, dict(task.options), task.mix_rate, task.seed, data.fingerprint())
        return record_of(run) if run.complete and same else None
    except (InputError, KeyError):
        return None


def record_of(run: Run) -> Record:
    """The record of an evaluation, from its run."""
    about = dict(run.manifest.about)
    features = about.pop("features")
    dataset = run.manifest.dataset
    stamp = {"data": dataset.fingerprint, "real_people": dataset.card.real_people, "version": run.manifest.countenance}
    parts: Record = {}
    if about["answered"]:
        table = run.scores()
        part, tags = (np.array(table[name].to_pylist()) for name in ("attr.part", "attr.type"))
        right = np.stack([table[f"m.{f}_correct"].to_numpy(zero_copy_only=False) for f in features], 1) == 1.0
        for name in ("validation", "not_drawn", *(["held_back"] if "held_back" in part else [])):
            parts[name] = part_of(right[part == name], tags[part == name], features)
    return about | parts | stamp


def results_of(told: Record) -> list[Result]:
    """Worst head, both heads and both by type, for every part that was scored."""
    found: list[Result] = []
    table = []
    for part, label in PARTS.items():
        if not told.get(part):
            continue
        n, worst, text = told[part]["photos"], told[part]["worst_head"], f"accuracy of the worse head, {label}"
        name = f"worst head, {label}"
        found.append(Number(name=name, meaning=text, value=worst, n=n, better="higher", unit="photos"))
        for feature, head in told[part]["heads"].items():
            table.append([label, feature, "all", head["accuracy"]])
            table += [[label, feature, kind, value] for kind, value in head["by_type"].items()]
    estimate = told.get("notes", {}).get("estimated_mix_rate")
    if estimate is not None:
        meaning = f"as the method estimates it; {told['mix_rate']:g} is true"
        found.append(Number(name="mix rate", meaning=meaning, value=estimate, n=1, unit="runs"))
    found.append(Table(name="accuracy by type", columns=["photos", "head", "type", "accuracy"], rows=table))
    return found


def rescore(run: Run, gone: Sequence[str]) -> list[str]:
    """Results of the photos that are left."""
    told = record_of(run)
    run.store.write_results(results_of(told) if told["answered"] and run.scores().num_rows else [])
    return [RESULTS]
