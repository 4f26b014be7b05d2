"""An evaluation as a run: a row for each photo that was scored, worst head and accuracies as results.

The record of an evaluation (what `run --json` writes) is read back from its run, so that a sweep reads runs and a
purge changes every number that rests on a photo.
"""

import hashlib
import re
from collections.abc import Sequence
from functools import lru_cache
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
from countenance.suites.happyfaces.dataset import HappyFaces, Photos, read_happyfaces
from countenance.suites.happyfaces.methods import METHODS, is_code, method_name
from countenance.suites.happyfaces.protocol import MixTask, Outcome, Record, part_of
from countenance.suites.happyfaces.tags import MATCHED
from countenance.tasks.results import Number, Result, Table

QUESTION = "Which two features explain one label?"
NAMING = "Heads are assigned to features by validation truth, the better of the two ways, as the benchmark's rule says."
PARTS = {"validation": "validation", "not_drawn": "photos not drawn", "held_back": "photos held back"}


def store(place: Path, data: HappyFaces, task: MixTask, outcome: Outcome, source: str | Path) -> Run:
    """Store an evaluation as a run."""
    import pyarrow as pa

    told = outcome.record
    rows = [row for part, (photos, p) in outcome.parts.items() for row in _rows(part, photos, p, told["ways"], data)]
    failures: list[dict[str, Any]] = []
    if not told["answered"]:
        names = [photo_id("validation", tag, name) for tag, name in zip(*data.validation.where(), strict=True)]
        failures = [{"sample": name, "kind": "model", "reason": told["reason"], "people": [name]} for name in names]
    features = [f"{feature}_correct" for feature in data.features]
    empty = {name: pa.array([], pa.float64() if name.startswith("m.") else pa.string()) for name in _columns(data)}
    about = {k: v for k, v in told.items() if k not in PARTS} | {"features": list(data.features), "code": _code(task)}
    manifest = Manifest(
        suite="happyfaces",
        task="happyfaces",
        question=QUESTION,
        options=dict(task.options),
        metrics=[
            MetricRecord(name=name, meaning=f"the head of {f} is right about the photo", headline=True)
            for name, f in zip(features, data.features, strict=True)
        ],
        model=ModelCard(name=told["method"], description=f"two heads, mix rate {task.mix_rate:g}, seed {task.seed}"),
        dataset=DatasetRecord(card=card_of(data), source=f"happyfaces:{source}", fingerprint=data.fingerprint()),
        seed=task.seed,
        seconds=told["seconds"],
        about=about,
        # Equal evaluations replace each other: a method fitted again is the same run, also with other timings.
        key=hashlib.sha256(
            repr((told["method"], task.mix_rate, task.seed, task.options, data.fingerprint(), about["code"])).encode()
        ).hexdigest(),
    )
    results = [] if not told["answered"] else results_of(told)
    return record(place, manifest, rows or pa.table(empty), results=results, failures=failures, notes=[NAMING])


def _columns(data: HappyFaces) -> list[str]:
    attributes = ["part", "type", "agree", *data.features]
    return ["sample", "subject", "identity", *(f"attr.{name}" for name in attributes)] + [
        f"m.{feature}_correct" for feature in data.features
    ]


def _rows(part: str, photos: Photos, probabilities: Any, ways: Sequence[int], data: HappyFaces) -> list[dict[str, Any]]:
    right = (probabilities > 0.5)[:, tuple(ways)] == photos.truth()
    return [
        {
            "sample": photo_id(part, tag, name), "subject": name, "identity": identity_of(name), "attr.part": part,
            **{f"attr.{k}": v for k, v in attributes_of(tag, data.features).items()},
            **{f"m.{feature}_correct": float(right[i, k]) for k, feature in enumerate(data.features)},
        }
        for i, (tag, name) in enumerate(zip(*photos.where(), strict=True))
    ]  # fmt: skip


def photo_id(part: str, tag: str, name: str) -> str:
    """A photo's id in a run; photos not drawn are of the unlabelled set."""
    return f"{'unlabelled' if part == 'not_drawn' else part}/{tag}/{name}"


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
    meanings = {
        "part": "where the photo comes from: validation, or the unlabelled photos that the run did not draw",
        "type": "F(ace) H(appy) or S(ad), W(riting) H(APPY) or S(AD)",
        "agree": "whether both features say the same, as they do in every labelled photo",
    }
    return DatasetCard(
        name="happyfaces",
        description="Labelled photos in which two features agree, unlabelled ones in which some disagree",
        real_people=data.real_people,
        attributes={name: AttributeCard(assigned_by="annotated", meaning=text) for name, text in meanings.items()},
    )


class HappyFacesDataset(Dataset):
    """The photos that runs score, for the pictures of a report."""

    print_: str = ""

    def fingerprint(self) -> str:
        """That of the three sets."""
        return self.print_


def load(part: str | None) -> Dataset:
    """The dataset behind `happyfaces:FOLDER`."""
    data = read_happyfaces(Path(part or ""))
    samples = []
    for name, photos in (("validation", data.validation), ("unlabelled", data.unlabelled)):
        for i, (tag, file) in enumerate(zip(*photos.where(), strict=True)):
            height, width = photos.pixels.shape[1:3]
            subject = Subject(id=file, identity=identity_of(file), attributes=attributes_of(tag, data.features))
            image = ArrayImage(photos.pixels[i])
            samples.append(Sample(photo_id(name, tag, file), image, width, height, (subject,)))
    made = HappyFacesDataset(card_of(data), samples)
    made.print_ = data.fingerprint()
    return made


@lru_cache(maxsize=1)
def _own_code() -> str:
    """A hash of this suite's own code: a version number does not change with every edit."""
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def _code(task: MixTask) -> str | None:
    """What the method's code is; None for code that is not ours, which is run again each time."""
    name = method_name(task.method)
    return f"{countenance.__version__} {_own_code()}" if not is_code(task.method) and name in METHODS else None


def kept_record(place: Path, data: HappyFaces, task: MixTask) -> Record | None:
    """The record of a stored run, when it is of this task, these data and this code; None when it must be made."""
    if not (place / "run.json").is_file() or _code(task) is None:
        return None
    try:
        run = Run(place)
        about = run.manifest.about
        same = about.get("code") == _code(task) and run.manifest.dataset.fingerprint == data.fingerprint()
        asked = about.get("method") == method_name(task.method) and about.get("options") == dict(task.options)
        return record_of(run) if run.complete and same and asked else None
    except (InputError, KeyError):
        return None


def record_of(run: Run) -> Record:
    """The record of an evaluation, from its run."""
    about = dict(run.manifest.about)
    features = tuple(about.pop("features"))
    stamp = {"data": run.manifest.dataset.fingerprint, "version": run.manifest.countenance, "code": about["code"]}
    parts: Record = {}
    table = run.scores()
    if about["answered"]:
        columns = {name: table[name].to_pylist() for name in ("attr.part", "attr.type")}
        right = np.stack([table[f"m.{f}_correct"].to_numpy(zero_copy_only=False) for f in features], 1) == 1.0
        part = np.array(columns["attr.part"])
        for name in ("validation", "not_drawn", *(["held_back"] if "held_back" in part else [])):
            mine = np.flatnonzero(part == name)
            tags = tuple(columns["attr.type"][i] for i in mine)
            parts[name] = part_of(right[mine], tags, features) if len(mine) else None
    return about | parts | stamp


def results_of(told: Record) -> list[Result]:
    """Worst head, both heads and both by type, for every part that was scored."""
    found: list[Result] = []
    table = []
    for part, label in PARTS.items():
        if not told.get(part):
            continue
        n = told[part]["photos"]
        text = f"accuracy of the worse head, {label}"
        found.append(
            Number(name=f"worst head, {label}", meaning=text, value=told[part]["worst_head"], n=n, better="higher",
                   unit="photos")
        )  # fmt: skip
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
