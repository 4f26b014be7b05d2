"""The leaderboard as pages: one with the tables, one for each entry; each a single file that opens from disk."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from markupsafe import Markup

from countenance.data.adapters.bias_bounty import read_challenge
from countenance.data.adapters.bias_bounty_files import CODES, ClassTable, Truth
from countenance.data.image import LazyImage
from countenance.data.paths import inside
from countenance.errors import InputError
from countenance.files import staged, write_json
from countenance.report import numbers, render
from countenance.report.atom import FEED, INDEX, FeedEntry, atom_feed
from countenance.report.board_site import DATA, check_site
from countenance.report.charts.scale import Scale
from countenance.report.draw import svg
from countenance.report.names import value_label
from countenance.report.pictures import embedded, window
from countenance.suites.bias_bounty.board import SPLITS, Board, BoardEntry
from countenance.suites.bias_bounty.printing import TITLES
from countenance.suites.bias_bounty.rules import HONEST_PASS, MAXIMUM
from countenance.suites.bias_bounty.scoring import AttributeScore
from countenance.suites.bias_bounty.suite import BIAS_BOUNTY

FAILURES, WORST = 24, 6
TABLES = {
    "public": ("Public test", "Score₁ on the public test: accuracy and disparity."),
    "private": (
        "Private holdout",
        "Score₂ on the private holdout: Score₁ times what randomness and efficiency earned.",
    ),
}
GROUPS = ("supervised", "unsupervised")
RATES = Scale(0.0, 1.0, (0.0, 0.25, 0.5, 0.75, 1.0), "rate")
TEMPLATES = Path(__file__).parent / "templates"


def write_pages(
    board: Board,
    data: Path,
    out: Path,
    *,
    pictures: bool | None = None,
    parts: Sequence[str] = tuple(SPLITS),
    beside: Sequence[str] = (),
) -> Path:
    """Write the page to `out` and the entries' pages to a folder beside it; returns `out`.

    `parts` are the splits that the entries' pages show, `beside` the files beside the page to which it leads.

    `pictures=None` shows pictures of failures only if the dataset's card says that all people are rendered.
    """
    card = read_challenge(data, "test", opened=False).card
    shown = not card.real_people if pictures is None else pictures
    known = {"card": card, "honest": f"{HONEST_PASS:.1%}", "titles": TITLES}
    links = _addresses(board, out)
    for standing in board.standings:
        sections = [_section(board, standing, data, which, shown) for which in parts if standing.score(which)]
        context = {"standing": standing, "sections": sections, "parts": parts, "back": f"../{out.name}"}
        template = render.template(TEMPLATES, "entry.html.j2")
        text = render.page(template, **known, **context, pictures=shown, rates=RATES, bar=_bar)
        render.write(out.parent / links[standing.name], text)
    tables = [_table(board, which) for which in TABLES if board.places(which)]
    ranked = {row.standing.name for which in parts for row in board.places(which)}
    context = {
        "board": board,
        "tables": tables,
        "lead": _lead(board, data, tables, shown) if tables else None,
        "links": links,
        "maximum": f"{MAXIMUM:.0f}",
        "timed": next((standing.timing for standing in board.standings if standing.timing), None),
        "unranked": [standing for standing in board.standings if standing.name not in ranked],
        "rights": BIAS_BOUNTY.rights(),
        "beside": beside,
    }
    return render.write(out, render.page(render.template(TEMPLATES, "leaderboard.html.j2"), **known, **context))


def _lead(board: Board, data: Path, tables: Sequence[dict[str, Any]], pictures: bool) -> dict[str, Any]:
    """Who leads the last of the tables, by how many points of how many pictures, and what it names wrong most."""
    which = str(tables[-1]["id"])
    first, *others = board.places(which)
    standing, number, truth = first.standing, first.score, board.truth[which]
    score = standing.private if which == "private" and standing.private else standing.public
    head = f"{standing.name} is first, tied with others" if first.tied else f"{standing.name} leads"
    if others and not first.tied:
        head += f" {numbers.plural(len(others), 'other entry', 'other entries')}"
    points = f"{number.name} {number.value:.2f} ({numbers.span(number.low, number.high)})"
    shares = {TITLES[name]: numbers.percent(part.accuracy.value, "rate") for name, part in score.attributes.items()}
    named = ", ".join(f"{title} {share}" for title, share in shares.items())
    sentence = f"{head} on {numbers.plural(len(truth.labels.names), 'picture')}: {points}. Named right: {named}."
    rows = _failures(truth, standing.answers[which], data / SPLITS[which])["rows"][:WORST] if pictures else []
    shown = [row for row in rows if row["picture"]]
    return {"name": standing.name, "sentence": sentence, "pictures": shown}


def write_site(board: Board, data: Path, folder: Path, which: str, *, pictures: bool | None = None) -> Path:
    """Write the table `public` or `private` as a folder that can be published as it is; returns its index.

    It holds the pages, the same as JSON, and an Atom feed. An earlier site is replaced; what else is there is refused.
    """
    check_site(folder)
    part = board.part(which)
    with staged(folder, replace=True) as place:
        write_pages(part, data, place / INDEX, pictures=pictures, parts=(which,), beside=(DATA, FEED))
        write_json(place / DATA, part.to_json())
        (place / FEED).write_bytes(_feed(part, which, place / INDEX))
    return folder / INDEX


def _feed(board: Board, which: str, index: Path) -> bytes:
    """An entry for each submission, the latest first; what is handed in again is a new entry."""
    ranks = {row.standing.name: row.rank for row in board.places(which)}
    links, entries = _addresses(board, index), []
    for standing in board.standings:
        score = standing.score(which)
        place = f"rank {ranks[standing.name]} of {len(ranks)}" if standing.name in ranks else "not ranked"
        shown = f"{score.name} {score.value:.3f} ({numbers.span(score.low, score.high)}), " if score else ""
        entries.append(FeedEntry(standing.name, standing.handed.submitted, links[standing.name], f"{shown}{place}."))
    return atom_feed(f"{board.contest.title or 'Bias bounty'}: {TABLES[which][0].lower()}", entries)


def _addresses(board: Board, out: Path) -> dict[str, str]:
    """The addresses of the entries' pages, beside the page `out`."""
    return {
        standing.name: f"{out.stem}-entries/{_slug(standing.name, number)}.html"
        for number, standing in enumerate(board.standings, 1)
    }


def _slug(name: str, number: int) -> str:
    """A safe and unique file name: the number comes first."""
    return f"{number:02d}-{re.sub(r'[^a-z0-9]+', '-', name.lower()).strip('-')}".rstrip("-")


def _table(board: Board, which: str) -> dict[str, Any]:
    scores = [row.score for row in board.places(which)]
    # One axis for both groups: a reader compares them by eye.
    scale = Scale.around([v for score in scores for v in (0.0, score.low, score.high, score.value)], least=1.0)
    groups = [
        {"title": group.capitalize(), "rows": places, "pairs": board.rankings[which, group].pairs}
        for group in GROUPS
        if (places := board.places(which, group))
    ]
    return {"id": which, "title": which.capitalize(), "about": TABLES[which][1], "groups": groups, "scale": scale}


def _section(board: Board, standing: BoardEntry, data: Path, which: str, pictures: bool) -> dict[str, Any]:
    score = standing.public if which == "public" else standing.private
    failures = _failures(board.truth[which], standing.answers[which], data / SPLITS[which] if pictures else None)
    return {"id": which, "title": TABLES[which][0], "score": score, "failures": failures}


def _bar(score: AttributeScore, word: str) -> Markup:
    """A bar from 0 to the class's accuracy, with its interval over it and the overall accuracy behind."""
    share = score.per_class[word]
    drawn = svg.interval(RATES, share, *score.class_interval(word), "none", score.accuracy.value)
    if share != share:
        return drawn
    opened, rest = drawn.split(">", 1)
    bar = f'<rect class="piece none" fill-opacity=".28" x="0" width="{RATES.at(share)}%" y="22%" height="56%"/>'
    return Markup(f"{opened}>{bar}{rest}")  # noqa: S704 - our own drawing and a number


def _failures(truth: Truth, answers: ClassTable, pictures: Path | None) -> dict[str, Any]:
    """The worst rows: most attributes wrong first, then the farthest skin tone; with pictures of that folder.

    Non-faces are left out where the board knows them (in the holdout): their labels are random.
    """
    tone, outside = CODES["skin_tone"], set(truth.nonfaces)
    failures = []
    for i, name in enumerate(truth.labels.names):
        true, predicted = truth.labels.words(i), answers.words(answers.index[name])
        wrong = [a for a in true if true[a] != predicted[a]]
        if wrong and name not in outside:
            far = abs(tone[true["skin_tone"]] - tone[predicted["skin_tone"]]) if "skin_tone" in wrong else 0
            mistakes = [f"{TITLES[a]}: {value_label(a, true[a])}, called {value_label(a, predicted[a])}" for a in wrong]
            failures.append((-len(wrong), -far, name, mistakes))
    rows = [
        {"name": name, "picture": _picture(pictures, name) if pictures else "", "wrong": mistakes}
        for *_, name, mistakes in sorted(failures)[:FAILURES]
    ]
    return {"rows": rows, "total": len(failures)}


def _picture(folder: Path, name: str) -> Any:
    try:
        pixels = LazyImage(inside(folder, name, str(folder / "labels.csv"))).load()
    except InputError:  # a missing picture leaves its caption; the page shows answers
        return ""
    return embedded(pixels, window(pixels.shape[1], pixels.shape[0]), longest=200)
