"""An entry on disk: `entry.json` and ONNX networks. Predicts classes; needs no torch.

A picture that the entry considers a non-face gets uniform random classes, drawn from its own pixels: the same picture
always gets the same classes, another picture others, and no seed can be tuned.
"""

import hashlib
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field

from countenance.answers import Labels
from countenance.data.adapters.bias_bounty_files import ATTRIBUTES, CLASSES, read_labels
from countenance.data.image import IMAGE_SUFFIXES, LazyImage
from countenance.data.paths import inside, pictures_below
from countenance.data.record import read_record
from countenance.data.tables import near
from countenance.errors import InputError
from countenance.models.external_weights import external_weights
from countenance.models.onnx import open_session

FILE = "entry.json"
Kind = Literal["supervised", "semi-supervised", "unsupervised"]
KINDS: tuple[Kind, ...] = get_args(Kind)
SHIPPED = Path(__file__).parent / "trained"
"""The entries trained on the embedded people, as `train` writes them."""
BATCH = 16
LARGEST = 4096
"""Pixels of the side of a network's input."""
INPUT = "images"
INPUT_TYPES: Mapping[str, type[np.generic]] = {"tensor(float)": np.float32, "tensor(uint8)": np.uint8}

Images = Sequence[NDArray[np.uint8]]


class EntryNetwork(BaseModel):
    """One ONNX file: input `images` (N × 3 × size × size, RGB, 0 to 255), outputs named after attributes."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    file: str
    size: Annotated[int, Field(ge=1, le=LARGEST)]
    outputs: tuple[str, ...]


class EntryCard(BaseModel):
    """The content of `entry.json`."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    name: str
    kind: Kind
    description: str = ""
    labels_used: str = ""
    """How labels were used, if `kind` does not say it; the leaderboard shows it beside the entry."""
    networks: tuple[EntryNetwork, ...]
    face_output: str | None = None
    """The output whose first number rises with being a face; below `face_threshold` the classes are random."""
    face_threshold: float = 0.0
    training: dict[str, Any] = {}

    @classmethod
    def read(cls, folder: Path) -> "EntryCard":
        shipped = f"{', '.join(_names())} are shipped{near(folder.name, _names())}"
        return read_record(cls, folder / FILE, missing=f"`countenance bias-bounty train` makes an entry, and {shipped}")


def _names() -> list[str]:
    return sorted(path.parent.name for path in SHIPPED.glob(f"*/{FILE}"))


def entry_folder(place: str | Path) -> Path:
    """A folder as it is, or the shipped entry of that name if there is no such folder.

    >>> entry_folder("better").name
    'better'
    """
    shipped = SHIPPED / place
    if not Path(place).exists() and shipped.parent == SHIPPED and (shipped / FILE).is_file():
        return shipped
    return Path(place)


def entry_files(folder: Path) -> list[Path]:
    """The files of an entry, by their names within its folder: entry.json and its networks."""
    card = EntryCard.read(folder)
    names = [FILE, *(network.file for network in card.networks)]
    for name in names:
        path = inside(folder, name, f"{folder / FILE}: networks")
        if not path.is_file():
            raise InputError(f"{folder / name}: no such file, though {folder / FILE} names it")
        if name != FILE:
            check_network(path)
    return [Path(name) for name in names]


def check_network(path: Path) -> None:
    """Refuse a network with weights in other files, which could be replaced or be any file here."""
    if path.suffix != ".onnx":  # onnxruntime reads other formats by their ending
        raise InputError(f"{path}: a network is a file that ends with .onnx")
    try:
        elsewhere = external_weights(path.read_bytes())
    except (ValueError, OSError) as error:
        raise InputError(f"{path}: not an ONNX file ({error})") from None
    if elsewhere:
        raise InputError(
            f"{path}: its weights are in another file ({elsewhere[0]:.80}); an entry holds its weights: save the "
            "network as one file (torch.onnx.export: external_data=False)"
        )


def entry_hash(folder: Path) -> str:
    """One hash of everything that determines an entry's answers."""
    digest = hashlib.sha256()
    for name in entry_files(folder):
        content = (folder / name).read_bytes()
        digest.update(f"{name.as_posix()}\0{len(content)}\0".encode() + content)
    return digest.hexdigest()


def random_classes(pixels: NDArray[np.uint8]) -> dict[str, int]:
    """Uniform random classes drawn from the picture's content.

    >>> random_classes(np.zeros((4, 4, 3), np.uint8)) == random_classes(np.zeros((4, 4, 3), np.uint8))
    True
    """
    shape = "×".join(map(str, pixels.shape))
    digest = hashlib.sha256(shape.encode() + b":" + np.ascontiguousarray(pixels).tobytes()).digest()
    # 64 bits an attribute: the remainder's bias is below 10⁻¹⁸.
    return {
        name: int.from_bytes(digest[8 * i : 8 * i + 8], "big") % len(CLASSES[name]) for i, name in enumerate(ATTRIBUTES)
    }


class BountyEntry:
    """A trained entry (a folder, or the name of a shipped one): a model, callable on a list of images."""

    def __init__(self, where: str | Path, *, threads: int | None = None, device: str = "cpu") -> None:
        folder = entry_folder(where)
        self.card = EntryCard.read(folder)
        self.name = self.card.name
        outputs = [name for network in self.card.networks for name in network.outputs]
        for required in (*ATTRIBUTES, *([self.card.face_output] if self.card.face_output else [])):
            if outputs.count(required) != 1:
                raise InputError(
                    f"{folder / FILE}: output {required!r} comes {outputs.count(required)} times, expected once"
                )
        self.sessions = []
        for network in self.card.networks:
            path = inside(folder, network.file, f"{folder / FILE}: networks")
            check_network(path)
            session = open_session(path, device, threads)
            names = [output.name for output in session.get_outputs()]
            missing = [name for name in network.outputs if name not in names]
            if missing:
                raise InputError(f"{path}: has no output {missing[0]!r}; it has {', '.join(names)}")
            self.sessions.append((network, session, _input_type(session, path)))

    def outputs(self, images: Images) -> dict[str, NDArray[np.float32]]:
        """The networks' raw outputs: a row for each image."""
        batches: dict[str, list[NDArray[np.float32]]] = defaultdict(list)
        for network, session, number in self.sessions:
            for i in range(0, len(images), BATCH):
                pixels = network_input(images[i : i + BATCH], network.size).astype(number)
                try:
                    parts = session.run(list(network.outputs), {INPUT: pixels})
                except Exception as error:  # onnxruntime's errors have no common class
                    reason = " ".join(str(error).split())
                    raise InputError(f"{self.name}: {network.file} fails on {pixels.shape}: {reason:.300}") from None
                for name, part in zip(network.outputs, parts, strict=True):
                    if why := _wrong_output(part, len(pixels), batches[name]):
                        raise InputError(f"{self.name}: output {name!r} {why}")
                    batches[name].append(part)
        results = {name: np.concatenate(parts) for name, parts in batches.items()}
        for name in ATTRIBUTES:
            shape, expected = results[name].shape, (len(images), len(CLASSES[name]))
            if shape != expected:
                raise InputError(f"{self.name}: output {name!r} has the shape {shape}, expected {expected}")
        return results

    def classes(self, images: Images) -> list[dict[str, int]]:
        """A class for each attribute of each image."""
        if not images:
            return []
        outputs = self.outputs(images)
        best = {name: outputs[name].argmax(axis=1) for name in ATTRIBUTES}
        face = outputs[self.card.face_output].reshape(len(images), -1)[:, 0] if self.card.face_output else None
        return [
            random_classes(image)
            if face is not None and float(face[i]) < self.card.face_threshold
            else {name: int(best[name][i]) for name in ATTRIBUTES}
            for i, image in enumerate(images)
        ]

    def __call__(self, images: Images) -> list[Labels]:
        return [Labels({name: CLASSES[name][code] for name, code in row.items()}) for row in self.classes(images)]


def _input_type(session: Any, path: Path) -> type[np.generic]:
    """The type in which a network takes its images: 32-bit floating point, or bytes."""
    inputs = {part.name: part.type for part in session.get_inputs()}
    number = INPUT_TYPES.get(inputs.get(INPUT, ""))
    if list(inputs) != [INPUT] or number is None:
        held = ", ".join(f"{name} ({kind})" for name, kind in inputs.items()) or "none"
        raise InputError(
            f"{path}: has the input {held}; expected one that is called {INPUT}: N × 3 × size × size numbers from 0 to "
            "255, tensor(float) or tensor(uint8)"
        )
    return number


def _wrong_output(part: Any, images: int, before: Sequence[NDArray[Any]]) -> str:
    """What is wrong with an output for a batch of images; empty if it has numbers in a row for each image."""
    if not isinstance(part, np.ndarray) or part.dtype.kind not in "fiub":
        return f"is {getattr(part, 'dtype', type(part).__name__)}, expected numbers"
    if part.ndim < 2 or len(part) != images or not part.size or any(part.shape[1:] != b.shape[1:] for b in before):
        return f"has the shape {part.shape}, expected a row of numbers for each of {images} images"
    return "has values that are not a number (NaN)" if np.isnan(part).any() else ""


class EntryClasses(BountyEntry):
    """The same entry with class codes as answers, which is what is timed."""

    __call__ = BountyEntry.classes  # type: ignore[assignment]


def network_input(images: Images, size: int) -> NDArray[np.uint8]:
    """The images at size × size, N × 3 × H × W: the same pixels in training and in prediction."""
    from PIL import Image

    out = np.empty((len(images), size, size, 3), dtype=np.uint8)
    for i, image in enumerate(images):  # averaging over areas when shrinking: no aliasing
        how = Image.Resampling.BOX if min(image.shape[:2]) > size else Image.Resampling.BILINEAR
        out[i] = np.asarray(Image.fromarray(image).resize((size, size), how))
    return np.ascontiguousarray(out.transpose(0, 3, 1, 2))


def image_files(folder: Path) -> dict[str, Path]:
    """The images of a folder by name: those of its labels.csv in its order, or else every picture in it."""
    table = folder / "labels.csv"
    if table.exists():
        return {name: inside(folder, name, str(table)) for name in read_labels(table).names}
    if not folder.is_dir():
        raise InputError(f"{folder}: no such folder; give a folder of images")
    paths = pictures_below(folder)
    if not paths:
        raise InputError(f"{folder}: no picture in it ({', '.join(IMAGE_SUFFIXES[:6])}, …)")
    return {path.relative_to(folder).as_posix(): path for path in paths}


def predict_files(
    entry: BountyEntry, files: Mapping[str, Path], step: Callable[..., None] = lambda *_: None
) -> list[Mapping[str, str]]:
    """The words for each file, a batch in memory at a time."""
    paths = list(files.values())
    answers: list[Mapping[str, str]] = []
    for start in range(0, len(paths), BATCH):
        images = [LazyImage(path).load() for path in paths[start : start + BATCH]]
        answers += [labels.values for labels in entry(images)]
        step(len(images))
    return answers
