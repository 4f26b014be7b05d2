"""Predictions from elsewhere: a photo and the probabilities of both heads on each line."""

from collections.abc import Collection, Sequence
from pathlib import Path

from countenance.answers.formats.base import PredictionRequest, Predictions
from countenance.answers.formats.table import read_table
from countenance.answers.values import Scalars
from countenance.data.adapters.happyfaces import SET_OF, HappyFacesDataset
from countenance.data.adapters.happyfaces_layout import HappyFaces
from countenance.data.names import ImageNames
from countenance.errors import InputError
from countenance.models.saved_predictions import card_of_predictions
from countenance.run.evaluator import evaluate
from countenance.run.run import Run
from countenance.suites.happyfaces.draws import draw
from countenance.suites.happyfaces.task import HAPPYFACES_TASK, to_heads

SHOWN = 3
HOW = "; name photos as TAG/NAME.jpg or validation/TAG/NAME.jpg"
HEAD_NAMES = {"head1": "head_1", "head 1": "head_1", "head2": "head_2", "head 2": "head_2"}
"""Other spellings of the two columns."""


def evaluate_predictions(
    path: Path,
    data: HappyFaces,
    name: str,
    *,
    mix_rate: float | None = None,
    seed: int = 0,
    source: str | None = None,
    out: Path | None = None,
) -> Run:
    """Score the predictions of a file as a run; every validation photo (and every one held back) must be in it.

    Unlabelled photos that the method has not seen may be included. With a mix rate the file belongs to that draw, and
    photos that were drawn are refused.
    """
    predictions = read_predictions(path, data)
    whole = False
    if mix_rate is not None:
        drawn = _drawn(data, mix_rate, seed)
        _refuse_drawn(predictions.by_id, drawn, mix_rate, seed, path)
        listed = {name for part, photos in data.scored().items() for name in photos.ids(SET_OF[part])}
        whole = listed - set(drawn) == set(predictions.by_id)
    options = {"method": name, "mix_rate": mix_rate, "seed": seed, "features": data.features}
    return evaluate(
        predictions,
        HAPPYFACES_TASK,
        HappyFacesDataset(data, only=set(predictions.by_id), whole=whole),
        out=out,
        options=options,
        card=card_of_predictions(predictions).model_copy(update={"name": name}),
        source=source,
        suite="happyfaces",
        seed=seed,
    )


def read_predictions(path: Path, data: HappyFaces) -> Predictions:
    """The probabilities of a file by photo."""
    ids = {part: photos.ids(SET_OF[part]) for part, photos in data.scored().items()}
    aliases = {f"not_drawn/{name.partition('/')[2]}": name for name in ids["not_drawn"]}
    names = ImageNames([name for part in ids.values() for name in part], aliases)
    try:
        predictions = read_table(path, PredictionRequest(Scalars, names))
    except InputError as error:
        raise InputError(f"{error}{HOW if 'does not have' in str(error) else ''}") from None
    if predictions.notes:
        raise InputError(f"{predictions.notes[0]}{HOW}")
    heads = {photo: _heads(scalars, f"{path}: {photo}") for photo, scalars in predictions.by_id.items()}
    for part, photos in ids.items():
        lost = [photo for photo in photos if photo not in heads]
        if part != "not_drawn" and lost:
            raise InputError(f"{path}: {len(lost)} of {len(photos)} {part} photos are missing ({_some(lost)})")
    return Predictions(str(path), "table", heads)


def _heads(scalars: Scalars, place: str) -> Scalars:
    """The two probabilities, whatever the names of their columns."""
    values = {HEAD_NAMES.get(name.strip().lower(), name.strip().lower()): v for name, v in scalars.values.items()}
    try:
        return to_heads({name: values[name] for name in ("head_1", "head_2")})
    except KeyError:
        shown = ", ".join(scalars.values) or "none"
        raise InputError(f"{place}: expected the columns photo, head_1 and head_2, found {shown}") from None
    except ValueError as error:
        raise InputError(f"{place}: {error}") from None


def _drawn(data: HappyFaces, mix_rate: float, seed: int) -> list[str]:
    """The photos of a draw, in its order."""
    names = data.unlabelled.ids("unlabelled")
    return [names[i] for i in draw(data.unlabelled.tags, mix_rate, seed).drawn]


def _refuse_drawn(photos: Collection[str], names: Sequence[str], mix_rate: float, seed: int, path: Path) -> None:
    drawn = [name for name in names if name in photos]
    if drawn:
        raise InputError(
            f"{path}: {len(drawn)} of its photos were drawn at mix rate {mix_rate:g} with seed {seed} "
            f"({_some(drawn)}): a method is scored on photos that it has not seen; `countenance happyfaces draw` "
            "lists what was drawn"
        )


def _some(photos: Sequence[str]) -> str:
    return ", ".join(photos[:SHOWN]) + (", …" if len(photos) > SHOWN else "")
