"""The page of one or several sweeps: curves beside the published ones, heads by type, where heads look, mix rates."""

import base64
import io
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jinja2 import ChoiceLoader, FileSystemLoader
from markupsafe import Markup
from numpy.typing import NDArray

from countenance.errors import InputError
from countenance.report import render
from countenance.report.figures.curves import Line, colours, panel, swatch
from countenance.suites.happyfaces.dataset import CARD, read_happyfaces
from countenance.suites.happyfaces.protocol import summary
from countenance.suites.happyfaces.published import CHANCE, MATCHED_ONLY, PUBLISHED, configurations
from countenance.suites.happyfaces.spatial.windows import SCALES

FACES_SHOWN = 10
TINTS = ((255.0, 190.0, 60.0), (120.0, 200.0, 255.0))
LOWEST = 0.4
"""Where the axis of accuracies begins: guessing is .5."""
ORDERS = {"disagreement": "by disagreement", "random": "at random"}
MANY = 2
"""With more sweeps than this, photos not drawn are left to the tables."""


@dataclass(frozen=True)
class Figure:
    """A drawing with its legend."""

    drawing: Markup
    legend: list[tuple[Markup, str]]


def read_sweeps(path: Path) -> list[dict[str, Any]]:
    """The table that `sweep --json` wrote, or one for each method of a file of runs of several methods."""
    try:
        found: dict[str, Any] = json.loads(path.read_text("utf-8"))
        if "mix_rates" in found:
            return [_checked(found)]
        # tools/happyfaces_gpu.py keeps of each run what differs between its runs.
        same = {"answered": True, "options": {}, "notes": {}, "cpu_seconds": 0.0}
        by_method: dict[str, list[dict[str, Any]]] = {}
        for run in found["runs"]:
            by_method.setdefault(run["method"], []).append(same | run)
        if not by_method:
            raise ValueError("no run")
        return [_checked(summary(runs)) for runs in by_method.values()]
    except FileNotFoundError:
        raise InputError(f"{path}: no such file; write it with `countenance happyfaces sweep --json`") from None
    except (ValueError, KeyError, TypeError, IndexError, AttributeError):
        raise InputError(f"{path}: not a table of `countenance happyfaces sweep --json`") from None


def _checked(table: dict[str, Any]) -> dict[str, Any]:
    """The table, once everything that the page shows of it is there and is a number where it should be."""
    if not table["mix_rates"]:
        raise ValueError("no mix rate")
    table["method"], table["auc_0_30"], table["lowest_mix_rate_above_90"], table["not_answered"]
    for row in table["mix_rates"]:
        told = [row["mix_rate"], row["runs"], row["answered"]]
        if row["answered"]:
            told += [row["worst_head_mean"], row["worst_head_std"]]
            for head in row["validation_heads"].values():
                told += [head["accuracy_mean"], *head["by_type"].values()]
        told += [row[name] for name in ("not_drawn_mean", "not_drawn_std", "estimated_mix_rate_mean") if row[name]]
        if not all(isinstance(value, int | float) for value in told):
            raise ValueError("not a number")
    return table


def write_report(
    sweeps: Sequence[Path], out: Path, *, data: Path | None = None, asked: Path | None = None, faces: bool = False
) -> Path:
    """Write one self-contained page. With `data` heat maps lie over the mean photo; with `faces` over some photos."""
    read = [(path, table) for path in sweeps for table in read_sweeps(path)]
    tables = [table for _, table in read]
    text = render.page(
        _template("happyfaces.html.j2"),
        tables=[_with_numbers(table) for table in tables],
        curves=_curves(tables),
        estimates=_estimates(tables),
        looks=[_looks(path, table, data, faces) for path, table in read],
        questions=_questions(asked),
        published=[(name, sorted(points.items())) for name, points in PUBLISHED.items()],
        configurations=configurations(),
        faces=faces,
    )
    return render.write(out, text)


def _template(name: str) -> Any:
    environment = render.environment()
    mine = FileSystemLoader(Path(__file__).parent / "templates")
    return environment.overlay(loader=ChoiceLoader([mine, environment.loader or mine])).get_template(name)


def _with_numbers(table: dict[str, Any]) -> dict[str, Any]:
    """The table with its types in order, for the accuracies by type."""
    rows = [row for row in table["mix_rates"] if row["answered"]]
    heads = list(rows[0]["validation_heads"]) if rows else []
    kinds = list(rows[0]["validation_heads"][heads[0]]["by_type"]) if rows else []
    return {**table, "heads": heads, "kinds": kinds}


def _lines(series: list[tuple[str, list[float], list[float], bool]]) -> list[Line]:
    looks = colours(len(series), False)
    return [
        Line(label, len(x), x, y, colour, dash, strong)
        for (label, x, y, strong), (colour, dash) in zip(series, looks, strict=True)
    ]


def _figure(
    series: list[tuple[str, list[float], list[float], bool]], axes: tuple[str, str], title: str, lowest: float = 0.0
) -> Figure:
    lines = _lines(series)
    key = "".join(c if c.isalnum() else "-" for c in title.lower())
    told = f"{axes[1]} against {axes[0]}; the values stand in the table"
    drawn = panel(lines, axes, title, told, key, lowest=lowest)
    return Figure(drawn, [(swatch(line), line.label) for line in lines])


def _curves(tables: list[dict[str, Any]]) -> Figure:
    series: list[tuple[str, list[float], list[float], bool]] = []
    for table in tables:
        rows = [row for row in table["mix_rates"] if row["answered"]]
        x = [row["mix_rate"] for row in rows]
        series.append((f"{table['method']}, validation", x, [row["worst_head_mean"] for row in rows], True))
        if len(tables) > MANY:  # their second lines would hide the first; the tables have them
            continue
        other = [row for row in rows if row["not_drawn_mean"] is not None]
        series.append(
            (
                f"{table['method']}, photos not drawn",
                [row["mix_rate"] for row in other],
                [row["not_drawn_mean"] for row in other],
                False,
            )
        )
    for name, points in PUBLISHED.items():
        if len(points) > 1:
            series.append((name, list(points), list(points.values()), False))
        else:  # a single point is drawn as a short level line
            ((rate, value),) = points.items()
            series.append((name, [rate - 0.02, rate], [value, value], False))
    end = max([0.3, *(row["mix_rate"] for table in tables for row in table["mix_rates"])])
    for label, level in (("a head guesses", CHANCE), ("right on matched types only", MATCHED_ONLY)):
        series.append((label, [0.0, end], [level, level], False))
    return _figure(series, ("mix rate", "worst-head accuracy"), "Worst-head accuracy by mix rate", LOWEST)


def _estimates(tables: list[dict[str, Any]]) -> Figure | None:
    series: list[tuple[str, list[float], list[float], bool]] = []
    for table in tables:
        rows = [row for row in table["mix_rates"] if row["estimated_mix_rate_mean"] is not None]
        if rows:
            x = [row["mix_rate"] for row in rows]
            series.append((table["method"], x, [row["estimated_mix_rate_mean"] for row in rows], True))
    if not series:
        return None
    end = max(max(x) for _, x, _, _ in series)
    series.append(("equal", [0.0, end], [0.0, end], False))
    return _figure(series, ("true mix rate", "estimated mix rate"), "Estimated against true mix rate")


def _questions(path: Path | None) -> Figure | None:
    if path is None:
        return None
    try:
        runs = json.loads(path.read_text("utf-8"))
        series = [
            (
                f"asked {ORDERS[run['order']]}, mean of {len(run['curves'])}",
                [point["questions"] for point in run["mean"]],
                [point["worst_head"] for point in run["mean"]],
                run["order"] == "disagreement",
            )
            for run in runs
        ]
    except (OSError, ValueError, KeyError, TypeError):
        raise InputError(f"{path}: not a file of `countenance happyfaces ask --json`") from None
    return _figure(series, ("questions asked", "worst-head accuracy"), "Accuracy against questions asked", LOWEST)


def _looks(sweep: Path, table: dict[str, Any], data: Path | None, faces: bool) -> dict[str, Any] | None:
    """Heat maps of a sweep's regions, from any of its runs that kept them."""
    found, names = None, ["head 1", "head 2"]
    for run in sorted(sweep.with_suffix(".runs").glob("*.json")):
        try:
            record = json.loads(run.read_text("utf-8"))
            regions = record["notes"]["regions"]
            heats = [heat_map(region) for region in regions]
            features = list(record["validation"]["heads"])
            names = [str(features[record["ways"].index(head)]) for head in (0, 1)]
        except (ValueError, KeyError, TypeError, IndexError, AttributeError):
            continue  # a run without regions, or no run at all
        found = regions
        break
    if found is None:
        return None
    under, shape, photos = None, heats[0].shape, []
    if data is not None:
        loaded = read_happyfaces(data)
        under = loaded.labelled.pixels.mean(0).round().astype(np.uint8)
        heats = [heat_map(region, under.shape[:2]) for region in found]
        shape = heats[0].shape
        if faces:
            step = max(1, len(loaded.validation) // FACES_SHOWN)
            some = loaded.validation.pixels[::step][:FACES_SHOWN]
            moves = _moves(loaded.labelled, some)
            photos = [
                _picture(_tinted(photo, *(moved_heat(heat, moves[k][i]) for k, heat in enumerate(heats))))
                for i, photo in enumerate(some)
            ]
    base = np.full((*shape, 3), 235, np.uint8) if under is None else under
    return {
        "method": table["method"],
        "heads": [(_picture(_tinted(base, heat)), name) for heat, name in zip(heats, names, strict=True)],
        "names": names,
        "over_mean": under is not None,
        "photos": photos,
        "real_people": data is not None and _real_people(data),
    }


def _real_people(data: Path) -> bool:
    """Whether the photos show anybody; the card of sets made from rendered people says that they do not."""
    card = data / CARD
    return not card.is_file() or bool(json.loads(card.read_text("utf-8")).get("real_people", True))


def _moves(labelled: Any, photos: NDArray[np.uint8]) -> list[NDArray[np.int64]]:
    """By how many pixels each head's region is moved in each photo: it is followed, not one fixed box."""
    from threadpoolctl import threadpool_limits

    from countenance.suites.happyfaces.methods.spatial import discover

    with threadpool_limits(limits=1):  # the matrices are small: threads cost more than they bring
        return discover(labelled.pixels, labelled.truth()[:, 0].astype(np.int64)).moves(photos)


def moved_heat(heat: NDArray[np.float64], move: NDArray[np.int64]) -> NDArray[np.float64]:
    """The map moved down and right by so many pixels; what leaves the photo is gone."""
    out = np.zeros_like(heat)
    (down, right), (height, width) = move, heat.shape
    out[max(0, down) : height + min(0, down), max(0, right) : width + min(0, right)] = heat[
        max(0, -down) : height + min(0, -down), max(0, -right) : width + min(0, -right)
    ]
    return out


def heat_map(region: Sequence[Sequence[Sequence[float]]], shape: tuple[int, int] | None = None) -> NDArray[np.float64]:
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


def _tinted(photo: NDArray[np.uint8], *heats: NDArray[np.float64]) -> NDArray[np.uint8]:
    """The photo in grey, each head's heat in a tint of its own: lighter than the photo, so that it shows without it."""
    drawn = photo.mean(-1, keepdims=True).repeat(3, -1) * 0.75
    for heat, tint in zip(heats, TINTS, strict=False):
        share = 0.75 * heat[..., None]
        drawn = drawn * (1 - share) + np.array(tint) * share
    return np.asarray(drawn.round(), np.uint8)


def _picture(pixels: NDArray[np.uint8]) -> Markup:
    from PIL import Image

    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, "JPEG", quality=80)
    content = base64.b64encode(buffer.getvalue()).decode("ascii")
    return Markup(f"data:image/jpeg;base64,{content}")  # noqa: S704 - letters and digits of our own
