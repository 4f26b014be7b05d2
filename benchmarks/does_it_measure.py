"""Do the rendered people show the gaps that photographs show? The same questions to both, disagreements first.

    python benchmarks/does_it_measure.py --weights FOLDER --fairface FOLDER --happyfaces FOLDER [--root PEOPLE]

Prints a Markdown table, writes `docs/results/does_it_measure.json` and draws `docs/images/does-it-measure.svg`. Needs
the weights of YuNet, RFB-320, MobileFaceNet and FaceRes in one folder, the extra `dlib`, FairFace's photographs and
those of Labeled Faces in the Wild (LFW) that came with HappyFaces. Each network's answers are stored in `--cache`, so a
second run computes nothing again. No photograph is written anywhere.
"""

import argparse
import json
import os
import platform
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import cv2
import numpy as np
from agreement import AGREE, STRONGER, VERDICTS, WEAKER, Gap, between, by_person, paired, sign, verdict
from measured_faces import DETECTORS, Item, Networks, age_error, fairface_items, lfw_items, people_items
from picture_changes import CHANGES, Floats

from countenance.data import load_dataset
from countenance.data.adapters.fairface import AGES

Sides = tuple[Sequence[str], Sequence[str]]
MARGINS = {"share": 0.05, "years": 2.0}
OWN = {"mask": "mask", "small": "distance", "blur": "blur", "jpeg": "compression"}
"""Changes of pixels with the twins' change that they resemble."""
ADULTS = AGES[3:7]
GROUPS: dict[str, tuple[str, Sides]] = {
    "darker skin": ("tone", (["dark"], ["light"])),
    "children 3 to 9": ("age", (AGES[1:2], ADULTS)),
    "over 60": ("age", (AGES[7:], ADULTS)),
    "women": ("gender", (["female"], ["male"])),
}
EMBEDDINGS = ("dlib", "mobilefacenet")
ATTRIBUTES = ("gender accuracy", "age error")


class Row(NamedTuple):
    """One question with the gap in photographs and in people."""

    question: str
    measure: str
    change: str
    photographs: Gap
    people: Gap
    unit: str

    @property
    def verdict(self) -> str:
        return verdict(self.photographs, self.people, MARGINS[self.unit])


class Study:
    """The questions, asked of items of either kind."""

    def __init__(self, networks: Networks) -> None:
        self.networks = networks

    def values(self, measure: str, items: Sequence[Item], change: str = "none") -> Floats:
        if measure in DETECTORS:
            return self.networks.answers(measure, items, change)[:, 0]
        answers = self.networks.answers("faceres", items, change)
        if measure == "gender accuracy":
            right = (answers[:, 0] > 0.5) == np.array([item.facts["gender"] == "male" for item in items])
            return np.where(np.isnan(answers[:, 0]), np.nan, right)
        return np.array([age_error(age, item.facts["age"]) for age, item in zip(answers[:, 1], items, strict=True)])

    def groups(self, measure: str, items: Sequence[Item], fact: str, sides: Sides, change: str = "none") -> Gap:
        """People on the first side minus those on the second."""
        means = []
        for side in sides:
            chosen = [item for item in items if item.facts[fact] in side]
            means.append(by_person(self.values(measure, chosen, change), [item.person for item in chosen]))
        return between(means[0], means[1], unit_of(measure) == "share")

    def changed(self, measure: str, items: Sequence[Item], change: str) -> Gap:
        """The same pictures with and without a change."""
        differences = self.values(measure, items, change) - self.values(measure, items)
        return paired(by_person(differences, [item.person for item in items]), unit_of(measure) == "share")

    def twins(self, measure: str, items: Sequence[Item], change: str) -> Gap:
        """Twins with a rendered change against their bases."""
        bases = {item.facts["base"]: item for item in items if item.facts["change"] == "none"}
        chosen = [item for item in items if item.facts["change"] == change]
        before = self.values(measure, [bases[item.facts["base"]] for item in chosen])
        return paired(self.values(measure, chosen) - before, unit_of(measure) == "share")

    def ranks(self, model: str, items: Sequence[Item], probes: Sequence[Item], change: str) -> dict[str, float]:
        """Per person: how often the other picture of the person is nearer to the changed one than a stranger's is.

        The mean over people is the area under the ROC curve with each person's own strangers.
        """
        gallery, vectors = self.networks.answers(model, items), self.networks.answers(model, probes, change)
        owners = np.array([item.person for item in items])
        names = np.array([item.name for item in items])
        ranks: dict[str, list[float]] = {}
        for probe, vector in zip(probes, vectors, strict=True):
            distance = np.linalg.norm(gallery - vector, axis=1)
            same = distance[(owners == probe.person) & (names != probe.name)]
            strangers = distance[(owners != probe.person) & ~np.isnan(distance)]
            if not np.isnan(same).all() and len(strangers):
                ranks.setdefault(probe.person, []).append(float((strangers > np.nanmin(same)).mean()))
        return {person: float(np.mean(values)) for person, values in ranks.items()}


def unit_of(measure: str) -> str:
    return "years" if measure == "age error" else "share"


def one_each(items: Sequence[Item], number: int) -> list[Item]:
    """One picture of each of so many people, drawn by a seed."""
    first = {item.person: item for item in reversed(items)}
    chosen = np.random.default_rng(7).permutation(sorted(first))[:number]
    return [first[person] for person in chosen]


def by_tone(items: Sequence[Item], number: int) -> list[Item]:
    """One picture of each of so many people with light and with dark skin."""
    sides = ([item for item in items if item.facts["tone"] == side] for side in ("light", "dark"))
    return [item for side in sides for item in one_each(side, number)]


def twice(items: Sequence[Item], number: int) -> list[Item]:
    """Two pictures of each of so many people of whom there are two."""
    shots: dict[str, list[Item]] = {}
    for item in items:
        shots.setdefault(item.person, []).append(item)
    pairs = [pictures[:2] for pictures in shots.values() if len(pictures) > 1]
    chosen = np.random.default_rng(7).permutation(len(pairs))[:number]
    return [item for k in chosen for item in pairs[k]]


def ask(study: Study, fairface: Path, happyfaces: Path, root: Path | None) -> tuple[list[Row], dict[str, Any]]:
    """Every question to photographs and people."""
    photographs, lfw = fairface_items(fairface), lfw_items(happyfaces)
    portraits, twin_samples = (list(load_dataset(f"people:{part}", root=root)) for part in ("portraits", "twins"))
    everyone, whole = people_items(portraits, frame=True), people_items(portraits, frame=False)
    bare, whole = ([item for item in items if item.facts["masked"] == "no"] for items in (everyone, whole))
    twins = people_items(twin_samples, frame=False)
    rows = []

    def add(question: str, measure: str, change: str, first: Gap, second: Gap) -> None:
        rows.append(Row(question, measure, change, first, second, unit_of(measure)))

    toned, toned_people = (by_tone(items, 90) for items in (photographs, bare))
    for measure in (*DETECTORS, *ATTRIBUTES):
        for group, (fact, sides) in GROUPS.items():
            both = (study.groups(measure, items, fact, sides) for items in (photographs, bare))
            add(group, measure, "as it is", *both)
        for change in ("mask", "dark"):
            both = (
                study.groups(measure, items, "tone", GROUPS["darker skin"][1], change)
                for items in (toned, toned_people)
            )
            add("darker skin", measure, f"all with {change}", *both)
    for measure in ATTRIBUTES:
        for change in ("mask", "dark", "small", "blur"):
            first = study.changed(measure, toned, change)
            add(change, measure, "operation on both", first, study.changed(measure, toned_people, change))
            if change == "mask":
                add(change, measure, "rendered", first, study.groups(measure, everyone, "masked", (["yes"], ["no"])))
    shown, rendered = one_each(lfw, 120), one_each(whole, 120)
    for measure in DETECTORS:
        for change in CHANGES:
            first = study.changed(measure, shown, change)
            add(change, measure, "operation on both", first, study.changed(measure, rendered, change))
            if change in OWN:
                add(change, measure, "rendered", first, study.twins(measure, twins, OWN[change]))
    return rows + embedding_rows(study, lfw, whole), embedding_levels(study, lfw, whole)


def embedding_sets(lfw: list[Item], whole: list[Item]) -> tuple[tuple[list[Item], list[Item]], ...]:
    """For photographs and for people: 300 pictures to compare with, and those that are changed."""
    pairs, people = twice(lfw, 100), twice(whole, 150)
    strangers = [item for item in one_each(lfw, len(lfw)) if item.person not in {pair.person for pair in pairs}]
    return (pairs + strangers[: 300 - len(pairs)], pairs), (people, people[:80])


def embedding_rows(study: Study, lfw: list[Item], whole: list[Item]) -> list[Row]:
    rows = []
    for model in EMBEDDINGS:
        for change in ("mask", "dark", "small", "blur"):
            gaps = []
            for gallery, probes in embedding_sets(lfw, whole):
                before, after = (study.ranks(model, gallery, probes, name) for name in ("none", change))
                gaps.append(paired(np.array([after[person] - before[person] for person in after]), share=False))
            rows.append(Row(change, f"{model}, AUC", "operation on both", gaps[0], gaps[1], "share"))
    return rows


def embedding_levels(study: Study, lfw: list[Item], whole: list[Item]) -> dict[str, Any]:
    """Areas under the curve as they are, and the gap by tone, which only people can show."""
    levels: dict[str, Any] = {}
    (gallery, pairs), (people, _) = embedding_sets(lfw, whole)
    tone = {item.person: item.facts["tone"] for item in people}
    for model in EMBEDDINGS:
        photographs, ranks = study.ranks(model, gallery, pairs, "none"), study.ranks(model, people, people, "none")
        sides = [np.array([v for p, v in ranks.items() if tone[p] == side]) for side in ("dark", "light")]
        levels[model] = {
            "photographs_auc": round(float(np.mean(list(photographs.values()))), 4),
            "photographs_pairs": len(photographs),
            "people_auc": round(float(np.mean(list(ranks.values()))), 4),
            "people_pairs": len(ranks),
            "people_gap_darker_skin": between(sides[0], sides[1], share=False)._asdict(),
        }
    return levels


def headline(rows: Sequence[Row]) -> dict[str, Any]:
    """How often people show what photographs show, over all and for groups and conditions."""
    summary = {}
    parts = {"all": rows, "groups": [r for r in rows if r.question in GROUPS]}
    parts["conditions"] = [r for r in rows if r not in parts["groups"]]
    for name, chosen in parts.items():
        gaps = [r for r in chosen if sign(r.photographs, MARGINS[r.unit])]
        shares = [(r.photographs.estimate, r.people.estimate) for r in chosen if r.unit == "share"]
        summary[name] = {
            "rows": len(chosen),
            "photographs_show_a_gap": len(gaps),
            "people_show_it_the_same_way": sum(r.verdict in (AGREE, WEAKER, STRONGER) for r in gaps),
            "of_them_of_the_same_size": sum(r.verdict == AGREE for r in gaps),
            "correlation_of_shares": round(float(np.corrcoef(np.array(shares).T)[0, 1]), 3),
            **{word: sum(r.verdict == word for r in chosen) for word in VERDICTS},
        }
    return summary


def shown_gap(gap: Gap, unit: str) -> str:
    factor, digits = (100, 0) if unit == "share" else (1, 1)
    estimate, low, high = (f"{factor * value:+.{digits}f}" for value in gap[:3])
    return f"{estimate} [{low}, {high}], {gap.n}"


def table(rows: Sequence[Row]) -> str:
    lines = ["| verdict | question | measure | how | photographs | people |", "|---|---|---|---|---|---|"]
    for row in rows:
        gaps = (shown_gap(gap, row.unit) for gap in (row.photographs, row.people))
        lines.append("| " + " | ".join((row.verdict, row.question, row.measure, row.change, *gaps)) + " |")
    return "\n".join(lines)


def draw(rows: Sequence[Row], file: Path) -> None:
    """Photographs' gaps against people's, with both intervals, for shares and for years."""
    from matplotlib import pyplot

    pyplot.rcParams["svg.fonttype"] = "none"
    pyplot.rcParams["svg.hashsalt"] = "does it measure"
    figure, panels = pyplot.subplots(1, 2, figsize=(10, 5.2), layout="constrained")
    kinds = {"groups": ("#b4470b", "o"), "operation on both": ("#1a6fb0", "s"), "rendered": ("#2f8a57", "^")}
    for axes, unit, factor, label in zip(
        panels, MARGINS, (100, 1), ("points of a share", "years of age error"), strict=True
    ):
        for kind, (colour, marker) in kinds.items():
            chosen = [r for r in rows if r.unit == unit and (r.change if r.change in kinds else "groups") == kind]
            x, y = (
                [factor * gap.estimate for gap in gaps]
                for gaps in zip(*((r.photographs, r.people) for r in chosen), strict=True)
            )
            spans = [
                factor * np.abs([[g.low - g.estimate, g.high - g.estimate] for g in gaps]).T
                for gaps in zip(*((r.photographs, r.people) for r in chosen), strict=True)
            ]
            axes.errorbar(
                x, y, spans[1], spans[0], fmt=marker, color=colour, ecolor=colour + "55", ms=5, lw=1, label=kind
            )
        axes.axline((0, 0), slope=1, color="#999", lw=1, ls="--")
        axes.axhline(0, color="#ccc", lw=1)
        axes.axvline(0, color="#ccc", lw=1)
        axes.set(xlabel=f"gap in photographs, {label}", ylabel="gap in people")
    panels[0].legend(frameon=False)
    figure.savefig(file, metadata={"Date": None})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--weights", type=Path, default=Path("../shared/weights"))
    parser.add_argument("--fairface", type=Path, default=Path("../shared/data/fairface"))
    parser.add_argument("--happyfaces", type=Path, default=Path("../shared/data/happyfaces"))
    parser.add_argument("--root", type=Path, help="a folder that the renderer wrote, instead of the shipped people")
    parser.add_argument("--cache", type=Path, default=Path("out/does_it_measure"))
    parser.add_argument("--docs", type=Path, default=Path("docs"))
    chosen = parser.parse_args()
    cv2.setNumThreads(1)
    rows, levels = ask(Study(Networks(chosen.weights, chosen.cache)), chosen.fairface, chosen.happyfaces, chosen.root)
    rows.sort(key=lambda row: (VERDICTS.index(row.verdict), row.question, row.measure))
    result = {
        "benchmark": "does_it_measure",
        "machine": f"{os.cpu_count()} cores, {platform.machine()}",
        "margins": MARGINS,
        "headline": headline(rows),
        "embedding": levels,
        "rows": [
            {
                **row._asdict(),
                "photographs": row.photographs._asdict(),
                "people": row.people._asdict(),
                "verdict": row.verdict,
            }
            for row in rows
        ],
    }
    (chosen.docs / "results" / "does_it_measure.json").write_text(json.dumps(result, indent=1) + "\n")
    draw(rows, chosen.docs / "images" / "does-it-measure.svg")
    print(table(rows))
    print(json.dumps({"headline": result["headline"], "embedding": levels}, indent=1))


if __name__ == "__main__":
    main()
