"""A leaderboard as a folder of static pages: sorted by score, with the evidence; JSON and an Atom feed; no server."""

from pathlib import Path
from typing import Any

import countenance
from countenance.auditing.directions import LOWER as LOWER_IS_BETTER
from countenance.comparing import Change, Leaderboard, Standing
from countenance.comparing.result import BETTER, HIGHER, LOWER, WORSE
from countenance.errors import InputError
from countenance.files import staged, write_json
from countenance.report import numbers, render
from countenance.report.atom import FEED, INDEX, FeedEntry, atom_feed, moment
from countenance.report.charts.forest import ForestBlock
from countenance.report.comparison import change_forest, change_row, label_of, scale_of
from countenance.report.comparison_words import kind_of
from countenance.report.leaderboard import board_badge, write_leaderboard
from countenance.report.metric_words import noun_in
from countenance.run.licences import in_words
from countenance.run.suite import Suite, load_suite, suite_names

DATA, EVIDENCE = "board.json", "evidence.html"
OPPOSITE = {BETTER: WORSE, WORSE: BETTER, HIGHER: LOWER, LOWER: HIGHER}


def write_site(board: Leaderboard, out: Path | str) -> Path:
    """Write the pages of a leaderboard into a folder, whole or not at all; return its index.

    A folder that holds such a site is replaced; any other that is not empty is refused. The same board gives the same
    bytes.

    >>> import tempfile
    >>> from countenance.comparing import leaderboard
    >>> rows = {"sample": list(range(400))}
    >>> board = leaderboard([rows | {"ok": [1, 0] * 200}, rows | {"ok": [1, 1] * 200}], metrics="ok")
    >>> index = write_site(board, Path(tempfile.mkdtemp()) / "site")
    >>> sorted(path.name for path in index.parent.iterdir())
    ['board.json', 'evidence.html', 'feed.xml', 'index.html', 'models']
    """
    folder = Path(out)
    check_site(folder)
    suite = _suite(board)
    pages = addresses(board)
    about: dict[str, Any] = {"board": board, "suite": suite, "title": _title(board, suite), "addresses": pages}
    about |= {"licences": in_words(board.settings["licences"]), "version": countenance.__version__}
    mark, badge = board_badge(board)
    with staged(folder, replace=True) as place:
        (place / "models").mkdir()
        tables = [_table(board, metric) for metric in board.settings["metrics"]]
        index = render.page("board_index.html.j2", **about, mark=mark, badge=badge, tables=tables)
        render.write(place / INDEX, index)
        for model, address in pages.items():
            numbered = [_of_model(board, metric, model) for metric in board.settings["metrics"]]
            text = render.page("board_model.html.j2", **about, model=model, date=_date(board, model), metrics=numbered)
            render.write(place / address, text)
        write_leaderboard(board, place / EVIDENCE)
        write_json(place / DATA, board_json(board))
        (place / FEED).write_bytes(feed(board))
    return folder / INDEX


def check_site(folder: Path) -> None:
    """Refuse a folder that holds something else, before the work."""
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder}: a file, expected a folder for the site")
    if folder.is_dir() and any(folder.iterdir()) and not all((folder / name).is_file() for name in (INDEX, DATA, FEED)):
        raise InputError(f"{folder}: not empty and no board site; name a new folder, or one with an earlier site")


def board_json(board: Leaderboard) -> dict[str, Any]:
    """The content of the index for programs: every model by every metric, best first, with the evidence."""
    suite = _suite(board)
    return {
        "title": _title(board, suite),
        "suite": None if suite is None else suite.name,
        "question": None if suite is None else suite.question,
        **({} if suite is None else {what.lower(): text for what, text in suite.rights().items()}),
        "decision": board.decision,
        "rows": board.settings["rows"],
        "unit": board.settings["unit"],
        "alpha": board.settings["alpha"],
        "licences": board.settings["licences"],
        "metrics": [
            {
                "metric": metric,
                "better": board.settings["better"][metric],
                "models": [_plain_row(board, standing) for standing in by_score(board, metric)],
            }
            for metric in board.settings["metrics"]
        ],
        "countenance": countenance.__version__,
    }


def by_score(board: Leaderboard, metric: str) -> list[Standing]:
    """The models by their scores, best first; equal scores by name."""
    sign = 1 if board.settings["better"][metric] == LOWER_IS_BETTER else -1
    return sorted(board.standings(metric), key=lambda standing: (sign * standing.estimate, standing.model))


def against_best(board: Leaderboard, standing: Standing) -> Change | None:
    """The difference of a model from the best one; None for the best."""
    best = by_score(board, standing.metric)[0].model
    if standing.model == best:
        return None
    names = {best, standing.model}
    pair = next(pair for pair in board.overall if pair.metric == standing.metric and {pair.a, pair.b} == names)
    return pair if pair.a == best else reversed_change(pair)


def reversed_change(change: Change) -> Change:
    """The same comparison, seen from the other model."""
    return change.model_copy(
        update={
            "a": change.b,
            "b": change.a,
            "estimate_a": change.estimate_b,
            "estimate_b": change.estimate_a,
            "difference": -change.difference,
            "low": -change.high,
            "high": -change.low,
            "verdict": OPPOSITE.get(change.verdict, change.verdict),
            "direction": OPPOSITE.get(change.direction, change.direction),
            "gained": change.lost,
            "lost": change.gained,
        }
    )


def addresses(board: Leaderboard) -> dict[str, str]:
    """The addresses of the models' pages, by number, as names may hold any character."""
    return {model: f"models/{number:03}.html" for number, model in enumerate(board.models, 1)}


def feed(board: Leaderboard) -> bytes:
    """An Atom feed: an entry for each model, the latest first; a run that is repeated is a new entry."""
    pages = addresses(board)
    entries = [
        FeedEntry(
            model,
            _date(board, model),
            pages[model],
            " ".join(_sentence(board, metric, model) for metric in board.settings["metrics"]),
        )
        for model in board.models
    ]
    return atom_feed(_title(board, _suite(board)), entries)


def _date(board: Leaderboard, model: str) -> str:
    """When a run finished, with its zone; empty if unknown."""
    date = board.settings["dates"][board.models.index(model)]
    return moment(date).isoformat(timespec="seconds") if date else ""


def _suite(board: Leaderboard) -> Suite | None:
    name = board.settings["suite"]
    return load_suite(name) if name in suite_names() else None


def _title(board: Leaderboard, suite: Suite | None) -> str:
    return f"{suite.name}: {suite.question}" if suite else f"Leaderboard by {_nouns(board)}"


def _nouns(board: Leaderboard) -> str:
    """The metrics of a board in words."""
    nouns = [noun_in(metric, board.settings) for metric in board.settings["metrics"]]
    return ", ".join(
        noun if noun == metric else noun[:1].lower() + noun[1:]
        for noun, metric in zip(nouns, board.settings["metrics"], strict=True)
    )


def _table(board: Leaderboard, metric: str) -> dict[str, Any]:
    """The models of the index by one metric."""
    standings = by_score(board, metric)
    changes = [against_best(board, standing) for standing in standings]
    better, known = board.settings["better"][metric], [change for change in changes if change is not None]
    listed = {change.b: change_row(change, change.b, board.settings) for change in known}
    rows = [
        {
            "standing": standing,
            "date": _date(board, standing.model)[:10],
            "change": None if change is None else listed[change.b],
            "worst": _worst(board, standing),
        }
        for standing, change in zip(standings, changes, strict=True)
    ]
    block = ForestBlock("", tuple(listed.values()))
    return {
        "metric": metric,
        "better": better,
        "rows": rows,
        "kind": _kind(board, metric),
        "forest": change_forest(metric, better, [block], scale_of(known), board.settings),
    }


def _kind(board: Leaderboard, metric: str) -> str:
    return kind_of(next(pair for pair in board.overall if pair.metric == metric))


def _worst(board: Leaderboard, standing: Standing) -> str:
    """The group with the worst score among those large enough; empty without such groups or a better direction."""
    groups = [score for score in standing.groups if score.clusters >= board.settings["min_n"]]
    if not groups or board.settings["better"][standing.metric] is None:
        return ""
    sign = -1 if board.settings["better"][standing.metric] == LOWER_IS_BETTER else 1
    worst = min(groups, key=lambda score: sign * score.estimate)
    value = numbers.value(worst.estimate, _kind(board, standing.metric))
    return f"{label_of(worst.attribute, worst.group)} {value}"


def _of_model(board: Leaderboard, metric: str, model: str) -> dict[str, Any]:
    """A model's page by one metric: its groups, and every other model compared with it."""
    standing = next(standing for standing in board.standings(metric) if standing.model == model)
    pairs = [pair for pair in board.overall if pair.metric == metric and model in (pair.a, pair.b)]
    against = [pair if pair.b == model else reversed_change(pair) for pair in pairs]
    rows = tuple(change_row(change, change.a, board.settings) for change in against)
    better = board.settings["better"][metric]
    return {
        "metric": metric,
        "standing": standing,
        "kind": _kind(board, metric),
        "groups": [(label_of(score.attribute, score.group), score) for score in standing.groups],
        "against": change_forest(metric, better, [ForestBlock("", rows)], scale_of(against), board.settings),
    }


def _sentence(board: Leaderboard, metric: str, model: str) -> str:
    standing = next(standing for standing in board.standings(metric) if standing.model == model)
    kind = _kind(board, metric)
    score = f"{numbers.value(standing.estimate, kind)} ({numbers.span(standing.low, standing.high, kind)})"
    shared = " (shared)" if standing.tied else ""
    remark = f" It {standing.remark}." if standing.remark else ""
    return f"{metric} {score}, rank {standing.rank}{shared} of {len(board.models)}.{remark}"


def _plain_row(board: Leaderboard, standing: Standing) -> dict[str, Any]:
    change = against_best(board, standing)
    fields = ("a", "difference", "low", "high", "p_adjusted", "verdict")
    return {
        "model": standing.model,
        "score": standing.estimate,
        "low": standing.low,
        "high": standing.high,
        "n": standing.n,
        "clusters": standing.clusters,
        "rank": standing.rank,
        "tied": standing.tied,
        "remark": standing.remark,
        "finished": _date(board, standing.model) or None,
        "page": addresses(board)[standing.model],
        "against_best": None if change is None else {name: getattr(change, name) for name in fields},
        "groups": [score.model_dump() for score in standing.groups],
    }
