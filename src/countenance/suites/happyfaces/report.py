"""The page of one or several sweeps: curves beside the published ones, heads by type, where heads look, mix rates."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from scipy import ndimage

from countenance.data import load_dataset
from countenance.data.adapters.happyfaces import CITATIONS
from countenance.data.adapters.happyfaces_layout import TAGS, HappyFaces, read_happyfaces
from countenance.decoding import regular_file
from countenance.errors import InputError
from countenance.report import render
from countenance.report.charts.curves import CurveChart, GroupLine, styled
from countenance.report.draw.svg import drawn
from countenance.report.numbers import plural
from countenance.report.pictures import whole_picture as picture_of
from countenance.run.run import Run
from countenance.suites.happyfaces.interface import Floats, Labels, Pictures
from countenance.suites.happyfaces.methods.spatial import discover
from countenance.suites.happyfaces.people import usable
from countenance.suites.happyfaces.runs import record_of
from countenance.suites.happyfaces.scores import GUESS, HEADLINE_RATE, Record, needs, summary
from countenance.suites.happyfaces.spatial.windows import SCALES

PUBLISHED: dict[str, dict[float, float]] = {
    "Extrapolate low data (published)": {0.0: 0.765, 0.1: 0.921, 0.2: 0.94, 0.3: 0.928},
    "DivDis (published)": {0.3: 0.825},
}
"""Worst-head accuracy by mix rate. The page also states 92.48 % at 10 % and an AUC of .903."""
CHANCE, MATCHED_ONLY = 0.5, 0.75
"""One head guesses; both are right on matched types and guess on cross types."""
LOWEST = 0.4
"""Where the axis of accuracies begins (guessing has .5)."""
ENLARGED = 0.9
"""Where the axis of the enlarged figure begins."""
SAME_OF_RUNS: Record = {"answered": True, "options": {}, "notes": {}, "cpu_seconds": 0.0}
"""tools/happyfaces_gpu.py stores only what differs between its runs; this is the same in all of them."""
ORDERS = {"disagreement": "by disagreement", "random": "at random"}
MANY = 2
"""With more sweeps than this, photos not drawn are left to the tables."""
FACES_SHOWN = 10
TINTS = ((255.0, 190.0, 60.0), (120.0, 200.0, 255.0))
"""The tints of the two heads' heat maps."""


def configurations() -> list[Record]:
    """Every configuration whose validation figures were seen during the development of this package, in order."""
    content = files("countenance.suites.happyfaces").joinpath("configurations.json").read_text("utf-8")
    listed: list[Record] = json.loads(content)
    return listed


def read_sweeps(*paths: Path) -> list[tuple[Path, Record]]:
    """The tables that `sweep --json` wrote, and one for each method of the other files; each with its file.

    Those hold runs of several methods, or the record of one run (`run --json`, `score --json`); records of one method,
    also of several files, are one table.
    """
    tables: list[tuple[Path, Record]] = []
    single: dict[str, tuple[Path, list[Record]]] = {}
    for path in paths:
        try:
            content: Record = json.loads(regular_file(path).read_text("utf-8"))
            if "mix_rates" in content:
                tables.append((path, _checked(content)))
                continue
            records = [SAME_OF_RUNS | record for record in content["runs"]] if "runs" in content else [content]
            if not records:
                raise ValueError("no run")
            for record in records:
                if record["mix_rate"] is None:
                    raise InputError(f"{path}: has no mix rate; `score --mix-rate --seed` names the draw that was used")
                single.setdefault(str(record["method"]), (path, []))[1].append(record)
            for _, records in single.values():
                _checked(summary(records))
        except InputError:
            raise
        except FileNotFoundError:
            raise InputError(f"{path}: no such file; write it with `countenance happyfaces sweep --json`") from None
        except (ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError):
            raise InputError(f"{path}: not a table of `countenance happyfaces sweep --json`") from None
    return tables + [(path, summary(records)) for path, records in single.values()]


def _checked(table: Record) -> Record:
    """The table, after checking that everything that the page shows exists and is a number where needed."""
    table["method"], table["auc_0_30"], table["lowest_mix_rate_above_90"], table["not_answered"], table["mix_rates"][0]
    if not isinstance(table.get("folder", ""), str):
        raise ValueError("not a folder")
    for row in table["mix_rates"]:
        values = [row["mix_rate"], row["runs"], row["answered"]]
        if row["answered"]:
            heads = row["validation_heads"].values()
            values += [row["worst_head_mean"], *(head["accuracy_mean"] for head in heads)]
            values += [value for head in heads for value in head["by_type"].values()]
        open_ = [row[name] for name in ("worst_head_std", "not_drawn_mean", "not_drawn_std", "estimated_mix_rate_mean")]
        if not all(isinstance(value, int | float) for value in (*values, *(v for v in open_ if v is not None))):
            raise ValueError("not a number")
    declined = {f"{row['mix_rate']:g}": n for row in table["mix_rates"] if (n := row["runs"] - row["answered"])}
    return {"uses_batch": False, "declined": declined} | table  # tables of earlier versions lack it


def write_report(
    sweeps: Sequence[Path], out: Path, *, data: Path | None = None, answers: Path | None = None, faces: bool = False
) -> Path:
    """Write one self-contained page. With `data` heat maps lie over the mean photo; with `faces` over some photos."""
    read = read_sweeps(*sweeps)
    tables = [table for _, table in read]
    loaded = None if data is None else read_happyfaces(data)
    single = [table["method"] for table in tables if _seeds(table)[:1] == [1]]
    text = render.page(
        render.template(Path(__file__).parent / "templates", "happyfaces.html.j2"),
        tables=[_with_numbers(table) for table in tables],
        curves=_curves(tables),
        enlarged=_curves(tables, ENLARGED),
        examples=_examples(loaded, faces),
        data_notes=list(dict.fromkeys(note for table in tables for note in table.get("data_notes") or ())),
        citations=CITATIONS,
        estimates=_estimates(tables),
        looks=[_looks(path, table, loaded, faces) for path, table in read],
        questions=_questions(answers),
        published=[(name, sorted(points.items())) for name, points in PUBLISHED.items()],
        configurations=configurations(),
        faces=faces,
        rendered=", ".join(table["method"] for table in tables if table.get("real_people") is False),
        # Figures of one seed beside means over several.
        unlike="" if all(_seeds(table) == [1] for table in tables) else ", ".join(single),
    )
    return render.write(out, text)


def _with_numbers(table: Record) -> Record:
    """The table with its types in order, for the accuracies by type, and its number of seeds."""
    rows = [row for row in table["mix_rates"] if row["answered"]]
    heads = list(rows[0]["validation_heads"]) if rows else []
    kinds = list(rows[0]["validation_heads"][heads[0]]["by_type"]) if rows else []
    at_10 = next((row["worst_head_mean"] for row in rows if row["mix_rate"] == HEADLINE_RATE), None)
    about = {
        "seed_words": _seed_words(table),
        "few": _seeds(table)[:1] == [1],
        "at_10": table.get("accuracy_at_10", at_10),
    }
    about |= {name: needs(table[name]) if table.get(name) else "" for name in ("auc_needs", "lowest_needs")}
    about["held_back"] = bool(rows) and all(row.get("held_back_mean") is not None for row in rows)
    return {**table, "heads": heads, "kinds": kinds, **about}


def _seeds(table: Record) -> list[int]:
    """The numbers of seeds behind a table's means, the smallest first."""
    return sorted({int(row["answered"]) for row in table["mix_rates"] if row["answered"]})


def _seed_words(table: Record) -> str:
    """The number of seeds behind a table's means, in words."""
    counts = _seeds(table) or [0]
    if counts == [0]:
        return "no answer"
    return plural(counts[0], "seed") if len(counts) == 1 else f"{counts[0]} to {counts[-1]} seeds"


def _line(label: str, points: Mapping[float, float], strong: bool = False, spread: Sequence[Any] = ()) -> GroupLine:
    """A line, with the deviation over seeds at each point that has one."""
    x, y = list(points), list(points.values())
    low, high = ([at + way * (d or 0.0) for at, d in zip(y, spread, strict=False)] for way in (-1, 1))
    return GroupLine(label, len(x), x, y, "", "", strong, low, high)


def _figure(
    lines: list[GroupLine],
    axes: tuple[str, str],
    title: str,
    lowest: float = 0.0,
    limits: tuple[Any, Any] | None = None,
) -> dict[str, Any]:
    """A drawing with its legend; an x axis whose values end between 0.3 and 1 is drawn from 0 to 1."""
    end = max(x for line in lines for x in line.x)
    limits = limits or ((0.0, 1.0) if 0.3 < end < 1 else None, None)
    lines = lines if lines[0].colour else styled(lines)
    chart = CurveChart(axes, lines, limits=limits, title=title, lowest=lowest)
    key = "".join(c if c.isalnum() else "-" for c in title.lower())
    return drawn(chart, key, wide=True, further="; the values are in the table")


def _curves(tables: list[Record], floor: float | None = None) -> dict[str, Any]:
    """All methods over the mix rates from 0 to 1; with a `floor` only the part above it, enlarged."""
    lines = []
    for table in tables:
        shown = [("validation", "worst_head", _seeds(table)[:1] != [1])]
        if len(tables) <= MANY:  # otherwise their second lines would hide the first; the tables have them
            shown.append(("photos not drawn", "not_drawn", False))
        for label, name, strong in shown:
            here = [row for row in table["mix_rates"] if row["answered"] and row[f"{name}_mean"] is not None]
            points = {row["mix_rate"]: row[f"{name}_mean"] for row in here}
            spread = [row[f"{name}_std"] for row in here] if any(row[f"{name}_std"] for row in here) else []
            lines.append(_line(f"{_marked(table)}, {label}, {_seed_words(table)}", points, strong, spread))
        declined = {row["mix_rate"]: GUESS for row in table["mix_rates"] if row["answered"] < row["runs"]}
        if declined:
            # thick, since "a head guesses" is at the same height
            lines.append(_line(f"{table['method']}, some or all seeds declined (a guess)", declined, strong=True))
    for name, points in PUBLISHED.items():
        (first, value), *rest = points.items()
        short = {} if rest else {first - 0.02: value}  # a single point is drawn as a short level line
        lines.append(_line(name, short | points))
    for label, level in (("a head guesses", CHANCE), ("right on matched types only", MATCHED_ONLY)):
        lines.append(_line(label, {0.0: level, 1.0: level}))
    axes, title = ("mix rate", "worst-head accuracy"), "Worst-head accuracy by mix rate"
    if floor is None:
        return _figure(lines, axes, title, LOWEST, ((0.0, 1.0), None))
    high = [_enlarged(line, floor) for line in styled(lines) if max(line.y, default=0) > floor]  # in the same colours
    return _figure(high or lines[:1], axes, f"{title}, {floor:g} to 1", floor, ((0.0, 1.0), (floor, 1.0)))


def _enlarged(line: GroupLine, floor: float) -> GroupLine:
    points = raised(line.x, line.y, floor)
    return replace(line, x=list(points), y=list(points.values()), low=(), high=())


def raised(x: Sequence[float], y: Sequence[float], floor: float) -> dict[float, float]:
    """The points of a line, with parts below the floor moved to it; a crossing of the floor becomes a point.

    >>> raised([0.0, 1.0], [0.8, 1.0], 0.9)
    {0.0: 0.9, 0.5: 0.9, 1.0: 1.0}
    """
    points: dict[float, float] = {}
    for k, (across, up) in enumerate(zip(x, y, strict=True)):
        if k and (y[k - 1] - floor) * (up - floor) < 0:
            share = (floor - y[k - 1]) / (up - y[k - 1])
            points[round(x[k - 1] + share * (across - x[k - 1]), 6)] = floor
        points[across] = max(up, floor)
    return points


def _marked(table: Record) -> str:
    """A method's name, with a remark if its prediction of a photo depends on the batch."""
    return f"{table['method']} (uses its batch)" if table.get("uses_batch") else str(table["method"])


def _examples(data: HappyFaces | None, faces: bool) -> list[tuple[str, str]]:
    """A picture of each of the four types: from the data if they may be shown, else from rendered people."""
    if data is not None and (faces or not data.real_people):
        photos = data.validation
        return [(picture_of(photos.pixels[photos.tags.index(tag)]), tag) for tag in TAGS if tag in photos.tags]
    people = usable(load_dataset("people:portraits"), "smile+text")
    return [(picture_of(next(person for person in people if person.fits(tag)).pixels(tag)), tag) for tag in TAGS]


def _estimates(tables: list[Record]) -> dict[str, Any] | None:
    lines = []
    for table in tables:
        estimated = {row["mix_rate"]: row["estimated_mix_rate_mean"] for row in table["mix_rates"]}
        points = {rate: value for rate, value in estimated.items() if value is not None}
        if points:
            lines.append(_line(f"{table['method']}, {_seed_words(table)}", points, True))
    if not lines:
        return None
    end = max(max(line.x) for line in lines)
    equal = _line("equal", {0.0: 0.0, end: end})
    return _figure([*lines, equal], ("true mix rate", "estimated mix rate"), "Estimated against true mix rate")


def _questions(path: Path | None) -> dict[str, Any] | None:
    if path is None:
        return None
    try:
        lines, effects = [], []
        for run in json.loads(regular_file(path).read_text("utf-8")):
            points = {point["questions"]: point["worst_head"] for point in run["mean"]}
            label = f"asked {ORDERS[run['order']]}, mean of {len(run['curves'])}"
            lines.append(_line(label, points, run["order"] == "disagreement"))
            if run.get("effect"):
                effects.append(f"Asked {ORDERS[run['order']]}: {run['effect']}.")
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        raise InputError(f"{path}: not a file of `countenance happyfaces ask --json`") from None
    figure = _figure(lines, ("questions asked", "worst-head accuracy"), "Accuracy against questions asked", LOWEST)
    return figure | {"effects": effects}


def _looks(sweep: Path, table: Record, data: HappyFaces | None, faces: bool) -> dict[str, Any] | None:
    """Heat maps of a sweep's regions, from any run of its method that has them."""
    method = table["method"]
    manifests = sorted((sweep.parent / table.get("folder", sweep.with_suffix(".runs").name)).glob("*/run.json"))
    stored = next(filter(None, (_regions(manifest, method) for manifest in manifests)), None)
    if stored is None:
        return None
    regions, names, real_people = stored
    heats, photos = [heat_map(region) for region in regions], []
    base = np.full((*heats[0].shape, 3), 235, np.uint8)
    if data is not None:
        real_people = data.real_people
        base = data.labelled.pixels.mean(0).round().astype(np.uint8)
        heats = [heat_map(region, base.shape[:2]) for region in regions]
        if faces:
            step = max(1, len(data.validation) // FACES_SHOWN)
            some = data.validation.pixels[::step][:FACES_SHOWN]
            discovery = discover(data.labelled.pixels, data.labelled.truth()[:, 0].astype(np.int64))
            for photo, *moves in zip(some, *discovery.moves(some), strict=True):
                photos.append(picture_of(_tinted(photo, *map(moved_heat, heats, moves))))
    return {
        "method": method,
        "heads": [(picture_of(_tinted(base, heat)), name) for heat, name in zip(heats, names, strict=True)],
        "names": names,
        "over_mean": data is not None,
        "photos": photos,
        "real_people": real_people,
    }


def _regions(manifest: Path, method: str) -> tuple[list[Any], list[str], bool] | None:
    """The regions of the heads of a run of a method, their names, and whether photos show real people; None without."""
    try:
        record = record_of(Run(manifest.parent))
        if record["method"] != method:
            return None
        regions = record["notes"]["regions"]
        for region in regions:
            heat_map(region)
        features = list(record["validation"]["heads"])
        return regions, [str(features[record["ways"].index(head)]) for head in (0, 1)], bool(record["real_people"])
    except (InputError, ValueError, KeyError, TypeError, IndexError, AttributeError):
        return None


def moved_heat(heat: Floats, move: Labels) -> Floats:
    """The map moved down and right by this many pixels; parts outside the photo are dropped."""
    return np.asarray(ndimage.shift(heat, move, order=0))


def heat_map(region: Sequence[Sequence[Sequence[float]]], shape: tuple[int, int] | None = None) -> Floats:
    """Block weights of all scales as one map in pixels, 0 to 1.

    >>> heat_map([[[0, 1], [0, 0]], [[1]]], (24, 24)).shape
    (24, 24)
    """
    scales = [np.asarray(weights, np.float64) for weights in region]
    if shape is None:
        cell = SCALES[0][0]
        shape = ((scales[0].shape[0] + 1) * cell, (scales[0].shape[1] + 1) * cell)
    heat = np.zeros(shape)
    for (cell, _), weights in zip(SCALES, scales, strict=True):
        y0 = (shape[0] - (weights.shape[0] + 1) * cell) // 2
        x0 = (shape[1] - (weights.shape[1] + 1) * cell) // 2
        for row, column in zip(*np.nonzero(weights), strict=True):
            y, x = max(0, y0 + row * cell), max(0, x0 + column * cell)
            heat[y : y + 2 * cell, x : x + 2 * cell] += weights[row, column] / (4 * cell * cell)
    top = heat.max()
    return heat / top if top else heat


def _tinted(photo: Pictures, *heats: Floats) -> Pictures:
    """The photo in grey with each head's heat in its own tint, lighter than the photo."""
    tinted = photo.mean(-1, keepdims=True).repeat(3, -1) * 0.75
    for heat, tint in zip(heats, TINTS, strict=False):
        share = 0.75 * heat[..., None]
        tinted = tinted * (1 - share) + np.array(tint) * share
    return np.asarray(tinted.round(), np.uint8)
