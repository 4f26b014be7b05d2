"""Loads models by name, by path, or from user code.

`haar`, `mtcnn`                    a model of the zoo (or of a plugin, entry point `countenance.models`)
`yunet` with weights PATH          a model of the zoo whose weights you have
`net.onnx`, `net.tflite`           a network with its declaration (`net.onnx.json`) beside it; a YOLO needs none
`module:attr`, `path.py:attr`      a callable, or a class that is called without arguments
`answers:RUN`                      the saved answers of an earlier run
"""

import contextlib
import hashlib
import inspect
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import countenance
from countenance.answers.targets import to_finds
from countenance.data.tables import near
from countenance.errors import ModelError
from countenance.files import file_hash
from countenance.loading import load_code, load_registered, plugins
from countenance.models.adapters import Request, adapt
from countenance.models.model import Model, ModelCard, attribute_of
from countenance.models.saved_predictions import finds_of_saved
from countenance.models.timing import TimedModel
from countenance.models.zoo import ZOO
from countenance.text import one_line

LONGEST_PATH = 4096
NETWORKS = (".onnx", ".tflite")
"""Files of networks, with a declaration beside them."""


@dataclass(frozen=True)
class ModelSpec:
    """How to load a model: plain values that are sent to worker processes, which load it.

    >>> ModelSpec("haar").card().finds
    ('face',)
    """

    source: str
    weights: str | None = None
    device: str = "cpu"
    settings: Mapping[str, Any] = field(default_factory=dict)
    request: Request | None = None
    """What the model is to do, where `module:attr` names a model of another library."""
    timed: bool = False
    """Whether the time of each picture is measured."""

    @property
    def needs_process(self) -> bool:
        """Whether it runs foreign code, which belongs in a worker process; saved predictions do not."""
        return not self.source.startswith("answers:")

    def located(self) -> "ModelSpec":
        """The spec with absolute paths, for a process that may work in another folder."""
        source, weights = self.source, self.weights
        if source.endswith(NETWORKS) or source.rpartition(":")[0].endswith(".py"):
            source = str(Path(source).absolute())
        return replace(self, source=source, weights=None if weights is None else str(Path(weights).absolute()))

    def card(self) -> ModelCard:
        """The model's card with a hash of its weights, code and settings, without loading the model."""
        return _card(self)

    def load(self) -> Model:
        """Load the model in this process."""
        return TimedModel(_load(self)) if self.timed else _load(self)  # type: ignore[return-value]


def model_names() -> list[str]:
    """The names that need no path and no code."""
    return sorted({*ZOO, *plugins("model")})


def _weights(spec: ModelSpec, name: str) -> Path:
    if spec.weights is None:
        raise ModelError(f'model {name!r} needs its weights: add weights="PATH" ({ZOO[name].source})')
    path = Path(spec.weights)
    if not path.is_file():
        raise ModelError(f"{path}: no such file; weights= takes the path of {name}'s weights")
    return path


def _load(spec: ModelSpec) -> Model:
    name = spec.source
    if name in ZOO:
        entry = ZOO[name]
        missing = entry.missing()
        if missing:
            raise ModelError(f"model {name!r} is {missing}")
        weights = _weights(spec, name) if entry.weights_by_path else None
        return entry.build(weights, spec.device, dict(spec.settings))
    if name.startswith("answers:"):
        from countenance.models.saved_predictions import SavedAnswers

        return SavedAnswers.of_run(Path(name.removeprefix("answers:")))  # type: ignore[return-value]
    if name.endswith(NETWORKS):
        from countenance.models.onnx import OnnxModel, OnnxSpec

        return OnnxModel(Path(name), OnnxSpec.of(Path(name)), spec.device)
    target = load_code("model", name) if ":" in name else _plugin(name)
    if inspect.isclass(target):
        target = target(**spec.settings)
    if spec.request is not None and (adapted := adapt(target, spec.request)) is not None:
        target = adapted.call
    if not callable(target) and attribute_of(target, "by_samples") is None:
        raise ModelError(
            f"model {name!r} is a {type(target).__name__}, expected something callable on a list of images"
        )
    model: Model = target
    return model


def _plugin(name: str) -> Any:
    if name in plugins("model"):
        return load_registered("model", name, {})
    known = model_names()
    raise ModelError(
        f"no model {name!r}{near(name, known)}; there are {', '.join(known)}, "
        "or give net.onnx, module:attr, path.py:attr, answers:RUN"
    )


def _card(spec: ModelSpec) -> ModelCard:
    name = spec.source
    parts: list[str] = [countenance.__version__, name, repr(sorted(spec.settings.items()))]
    settings = dict(spec.settings)
    if name in ZOO:
        entry = ZOO[name]
        missing = entry.missing()
        if missing:
            raise ModelError(f"model {name!r} is {missing}")
        files = entry.weights()
        if entry.weights_by_path:
            stated = _weights(spec, name)
            files = [stated, *(path for pattern in entry.beside for path in sorted(stated.parent.glob(pattern)))]
        parts += [file_hash(path) for path in files]
        return ModelCard(
            name=name,
            version=countenance.__version__,
            description=entry.description,
            licence=entry.licence,
            source=entry.source,
            content=_digest(parts),
            settings=settings,
            hashed=True,
            finds=entry.finds,
        )
    if name.startswith("answers:"):
        folder = Path(name.removeprefix("answers:"))
        folder = folder / "answers" if (folder / "answers").is_dir() else folder
        files = sorted(folder.glob("*.parquet")) if folder.is_dir() else [folder]
        if not files or not all(path.is_file() for path in files):
            raise ModelError(f"{folder}: holds no saved answers (*.parquet)")
        parts += [file_hash(path) for path in files]
        shown = f"answers of {folder.parent.name or folder.name}"
        return ModelCard(name=shown, content=_digest(parts), hashed=True, finds=finds_of_saved(folder))
    if name.endswith(NETWORKS):
        from countenance.models.onnx import OnnxSpec

        if not Path(name).is_file():
            raise ModelError(f"{name}: no such file")
        declared = OnnxSpec.of(Path(name))
        files = [Path(name), *external_data(Path(name))]
        parts += [*(file_hash(path) for path in files), declared.model_dump_json()]
        return ModelCard(
            name=declared.name or Path(name).stem,
            licence=declared.licence,
            content=_digest(parts),
            hashed=True,
            finds=declared.finds(),
        )
    target = load_code("model", name) if ":" in name else _plugin(name)
    if spec.request is not None and (adapted := adapt(target, spec.request)) is not None:
        return adapted.card
    return _code_card(target, Path(name).name, parts, settings)  # the folder of path.py:attr is not published


def _code_card(target: Any, name: str, parts: list[str], settings: dict[str, Any]) -> ModelCard:
    try:
        source = Path(inspect.getfile(target if inspect.isclass(target) or inspect.isroutine(target) else type(target)))
        parts.append(file_hash(source))
    except (TypeError, OSError):
        parts.append(repr(target))
    shown = attribute_of(target, "name")
    licence = attribute_of(target, "licence", "not stated")
    return ModelCard(
        name=one_line(shown if isinstance(shown, str) else name),
        licence=one_line(str(licence)),
        source=name,
        content=_digest(parts),
        settings=settings,
        finds=to_finds(attribute_of(target, "finds"), name),
    )


def card_of_callable(model: Callable[..., Any]) -> ModelCard:
    """The card of a model object given in a program: named after it, with the hash of its source file."""
    shown = one_line(str(attribute_of(model, "name") or attribute_of(model, "__name__") or type(model).__name__))
    content = attribute_of(model, "content")
    parts = [countenance.__version__, shown, str(content)]
    return _code_card(model, shown, parts, {})


def external_data(path: Path) -> list[Path]:
    """The files below an ONNX network's folder in which it keeps weights, as the network's file names them."""
    content, places = path.read_bytes(), set()
    for match in re.finditer(rb"location\x12", content):  # an entry of a tensor: the key, then the length of the value
        start, length = match.end(), 0
        for shift, byte in enumerate(content[start : start + 4]):
            length |= (byte & 0x7F) << 7 * shift
            if byte < 0x80:
                start += shift + 1
                break
        with contextlib.suppress(UnicodeDecodeError):
            places.add(content[start : start + length].decode())
    named = [
        path.parent / place for place in sorted(places) if place and "\0" not in place and len(place) < LONGEST_PATH
    ]
    return [file for file in named if file.is_file()]


def _digest(parts: list[str]) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def default_threads(workers: int) -> int:
    """Threads for each worker's network, so that workers together use every core once."""
    return max(1, (os.cpu_count() or 1) // max(1, workers))
