"""The leaderboard as pages: one with the tables, one for each entry; each a single file that opens from disk."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from jinja2 import ChoiceLoader, FileSystemLoader
from markupsafe import Markup

from countenance.audit import wilson
from countenance.audit.ranking import Pair
from countenance.data.image import LazyImage
from countenance.data.paths import inside
from countenance.errors import InputError
from countenance.metrics.bounty import HONEST_PASS, MAXIMUM
from countenance.report import numbers, render
from countenance.report.figures import forest
from countenance.report.figures.scale import Scale
from countenance.report.names import value_label
from countenance.report.pictures import embedded, window
from countenance.suites.bias_bounty.board import Board, BoardEntry, BoardRow
from countenance.suites.bias_bounty.files import ATTRIBUTES, CLASSES, read_labels, read_predictions
from countenance.suites.bias_bounty.layout import read_challenge
from countenance.suites.bias_bounty.printing import TITLES
from countenance.suites.bias_bounty.prizes import Prize
from countenance.suites.bias_bounty.scoring import Score

FAILURES = 24
TABLES = (
    ("public", "Public", "Score₁ on the public test: accuracy and disparity."),
    ("private", "Private", "Score₂ on the private holdout: Score₁ times what randomness and efficiency earned."),
)
GROUPS = ("supervised", "unsupervised")


def write_pages(
    board: Board,
    data: Path,
    out: Path,
    *,
    pictures: bool | None = None,
    parts: Sequence[str] = ("public", "private"),
) -> Path:
    """Write the page to `out` and the entries' pages to a folder beside it; returns `out`.

    `parts` says which of the splits the entries' pages show.

    `pictures=None` shows failures as pictures only where the dataset's card says that nobody in them is real.
    """
    card = read_challenge(data, "test", sizes=False).card
    shown = not card.real_people if pictures is None else pictures
    folder = out.parent / f"{out.stem}-entries"
    names = {s.name: f"{_slug(s.name, i)}.html" for i, s in enumerate(board.standings)}
    for standing in board.standings:
        text = render.page(_template("entry.html.j2"), **_entry(board, standing, data, card, shown, out.name, parts))
        render.write(folder / names[standing.name], text)
    links = {name: f"{folder.name}/{file}" for name, file in names.items()}
    return render.write(out, render.page(_template("leaderboard.html.j2"), **_index(board, card, links)))


def _slug(name: str, number: int) -> str:
    """A file name that is safe everywhere and unique: the number comes first."""
    return f"{number + 1:02d}-{re.sub(r'[^a-z0-9]+', '-', name.lower()).strip('-')}".rstrip("-")


def _template(name: str) -> Any:
    environment = render.environment()
    mine = FileSystemLoader(Path(__file__).parent / "templates")
    return environment.overlay(loader=ChoiceLoader([mine, environment.loader or mine])).get_template(name)


def _index(board: Board, card: Any, links: dict[str, str]) -> dict[str, Any]:
    tables = []
    for which, title, about in TABLES:
        if not board.places(which):
            continue
        groups = []
        # One axis for both groups: a reader compares them by eye.
        scale = Scale.around([v for p in board.places(which) for v in (0.0, p.low, p.high, p.value)], least=1.0)
        for group in GROUPS:
            places = board.places(which, group)
            if places:
                rows = [_row(p, which, scale) | {"link": links[p.standing.name]} for p in places]
                pairs = [_pair(pair) for pair in board.rankings[which, group].pairs]
                told = {"title": group.capitalize(), "rows": rows, "axis": forest.axis(scale), "pairs": pairs}
                groups.append(told | {"with_labels": [row for row in rows if row["labels_used"]]})
        tables.append({"id": which, "title": title, "about": about, "groups": groups})
    return {
        "tables": tables, "card": card, "entries": len(board.standings), "rejected": board.rejected,
        "notes": board.notes, "maximum": f"{MAXIMUM:.0f}", "honest": f"{HONEST_PASS:.1%}",
        "prizes": [_prize(prize, links) for prize in board.prizes], "machine": _machine(board),
    }  # fmt: skip


def _machine(board: Board) -> str:
    """Where the entries were timed."""
    timed = [s.timing for s in board.standings if s.timing]
    return f"{timed[0].threads} of {timed[0].cores} cores, {timed[0].machine}" if timed else ""


def _prize(prize: Prize, links: dict[str, str]) -> dict[str, Any]:
    return {
        "title": prize.name.capitalize(),
        "winners": [(name, links[name]) for name in prize.winners],
        "shared": len(prize.winners) > 1,
        "why": prize.why,
    }


def _pair(pair: Pair) -> dict[str, Any]:
    return {
        "better": pair.better,
        "worse": pair.worse,
        "difference": f"{pair.difference:+.3f}",
        "span": numbers.change_span(pair.low, pair.high) if pair.low == pair.low else numbers.NOTHING,
        "adjusted": numbers.probability(pair.adjusted) if pair.adjusted == pair.adjusted else numbers.NOTHING,
        "told": f"{pair.better} is ahead" if pair.decided else "cannot be told apart",
    }


def _row(place: BoardRow, which: str, scale: Scale) -> dict[str, Any]:
    standing = place.standing
    score = standing.public if which == "public" else standing.private or standing.public
    timing = standing.timing
    return {
        "rank": place.rank,
        "tied": place.tied,
        "name": standing.name,
        "kind": standing.kind,
        "score": f"{place.value:.3f}",
        "span": numbers.span(place.low, place.high),
        "plot": forest.row(scale, place.value, place.low, place.high, "none"),
        "attributes": [
            (numbers.value(score.accuracy[name], "rate"), numbers.value(score.disparity[name], "rate"))
            for name in ATTRIBUTES
        ],
        "randomness": f"×{score.multiplier:.3f}" if score.nonfaces else "not applicable",
        "efficiency": f"×{standing.efficiency:g}",
        "speed": f"{timing.images_per_second:.0f}" if timing else numbers.NOTHING,
        "labels_used": standing.labels_used,
    }


def _entry(
    board: Board, standing: BoardEntry, data: Path, card: Any, pictures: bool, back: str, wanted: Sequence[str]
) -> dict[str, Any]:
    every = [
        ("public", "Public test", standing.public, "test"),
        ("private", "Private holdout", standing.private, "holdout"),
    ]
    parts = [(which, title, score, split) for which, title, score, split in every if score and which in wanted]
    folder = board.folder / standing.name
    sections = []
    for which, title, score, split in parts:
        failures = _failures(data, split, folder / f"{split}.csv", pictures)
        sections.append(
            {
                "id": which, "title": title, "score": score, "span": numbers.span(*score.score1_interval),
                "rate_axis": forest.axis(RATES), "attributes": [_attribute(score, name) for name in ATTRIBUTES],
                "randomness": [_randomness(score, name) for name in ATTRIBUTES] if score.nonfaces else [],
                "faces_alone": f"{score.faces_alone:.4f}" if score.faces_alone == score.faces_alone else "",
                "failures": failures, "over": "identities" if score.clustered else "rows",
            }
        )  # fmt: skip
    span = standing.score2_interval
    return {
        "standing": standing, "sections": sections, "parts": wanted, "card": card, "back": f"../{back}",
        "pictures": pictures,
        "titles": TITLES, "honest": f"{HONEST_PASS:.1%}",
        "score2_span": numbers.span(*span) if span else "",
        "score1_span": numbers.span(*standing.public.score1_interval),
    }  # fmt: skip


RATES = Scale(0.0, 1.0, (0.0, 0.25, 0.5, 0.75, 1.0), "rate")


def _attribute(score: Score, name: str) -> dict[str, Any]:
    bars = []
    for word in CLASSES[name]:
        n, share = score.class_rows[name][word], score.per_class[name][word]
        size = n / score.design_effect[name]
        low, high = wilson(share * size, size) if n else (float("nan"), float("nan"))
        bars.append(
            {
                "label": value_label(name, word), "n": n, "share": numbers.value(share, "rate"),
                "span": numbers.span(low, high, "rate") if n else "no truth rows, left out",
                "plot": _bar(share, low, high, score.accuracy[name]),
            }
        )  # fmt: skip
    mean, high95 = score.fair[name]
    matrix = []
    for word, row in zip(CLASSES[name], score.confusion[name], strict=True):
        total = sum(row)
        cells = [{"n": n, "shade": round(8 * n / total) if total else 0} for n in row]
        matrix.append({"label": value_label(name, word), "cells": cells})
    return {
        "name": name,
        "title": TITLES[name],
        "accuracy": numbers.value(score.accuracy[name], "rate"),
        "accuracy_span": numbers.span(*score.accuracy_interval[name], "rate"),
        "disparity": numbers.value(score.disparity[name], "rate"),
        "disparity_span": numbers.span(*score.disparity_interval[name], "rate"),
        "fair": numbers.value(mean, "rate"),
        "fair_high": numbers.value(high95, "rate"),
        "more_than_chance": score.disparity[name] > high95,
        "bars": bars,
        "classes": [value_label(name, word) for word in CLASSES[name]],
        "matrix": matrix,
        "left_out": [value_label(name, word) for word in score.left_out[name]],
    }


def _bar(share: float, low: float, high: float, overall: float) -> Markup:
    """A bar from 0 to the class's accuracy, with its interval over it and the overall accuracy behind."""
    drawn = forest.row(RATES, share, low, high, "none", overall)
    if share != share:
        return drawn
    opened, rest = drawn.split(">", 1)
    bar = f'<rect class="piece none" fill-opacity=".28" x="0" width="{RATES.at(share)}%" y="22%" height="56%"/>'
    return Markup(f"{opened}>{bar}{rest}")  # noqa: S704 - our own drawing and a number


def _randomness(score: Score, name: str) -> dict[str, Any]:
    test = score.randomness[name]
    return {
        "title": TITLES[name], "p": numbers.probability(test.p), "method": test.method, "passed": bool(test.passed),
        "multiplier": f"×{test.multiplier:g}", "too_even": test.too_even,
        "counts": ", ".join(f"{value_label(name, w)} {n}" for w, n in zip(CLASSES[name], test.counts, strict=True)),
    }  # fmt: skip


def _failures(data: Path, split: str, predictions: Path, pictures: bool) -> dict[str, Any]:
    """The worst rows: most attributes wrong first, then the farthest skin tone."""
    truth = read_labels(data / split / "labels.csv")
    said = read_predictions(predictions)
    found = []
    for i, name in enumerate(truth.names):
        true = {a: int(truth.codes[a][i]) for a in ATTRIBUTES}
        answer = {a: int(said.codes[a][said.index[name]]) for a in ATTRIBUTES}
        wrong = [a for a in ATTRIBUTES if true[a] >= 0 and true[a] != answer[a]]
        if wrong:
            far = abs(true["skin_tone"] - answer["skin_tone"]) if "skin_tone" in wrong else 0
            found.append((-len(wrong), -far, name, true, answer, wrong))
    found.sort(key=lambda row: row[:3])
    rows = []
    for _, _, name, true, answer, wrong in found[:FAILURES]:
        rows.append(
            {
                "name": name,
                "picture": _picture(data / split, name) if pictures else "",
                "wrong": [
                    f"{TITLES[a]}: {value_label(a, CLASSES[a][true[a]])}, "
                    f"called {value_label(a, CLASSES[a][answer[a]])}"
                    for a in wrong
                ],
            }
        )
    return {"rows": rows, "total": len(found), "of": len(truth)}


def _picture(folder: Path, name: str) -> Any:
    try:
        pixels = LazyImage(inside(folder, name, str(folder / "labels.csv"))).load()
    except InputError:  # the page is about answers; a picture that is not here any more leaves its caption
        return ""
    return embedded(pixels, window(pixels.shape[1], pixels.shape[0]), longest=200)
