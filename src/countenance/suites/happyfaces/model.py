"""A method as a model of a run: fitted on the arrays of the draw, predicting each batch together and one by one."""

import hashlib
import json
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

import countenance
from countenance.answers import Scalars
from countenance.data.fit_input import FitContext
from countenance.files import file_hash
from countenance.models import ModelCard
from countenance.models.model import Images
from countenance.suites.happyfaces.host import Host, MethodCall, MethodInProgram, MethodProcess
from countenance.suites.happyfaces.methods import is_code, method_name

HEADS, ALONE = ("head_1", "head_2"), ("alone_1", "alone_2")
"""The names of a photo's numbers: both heads' probabilities in a batch, and for the photo alone."""


class MethodModel:
    """A method of HappyFaces; for a method by name it holds a process until it is closed."""

    def __init__(
        self, method: Any, seed: int = 0, options: Mapping[str, Any] | None = None, host: Host | None = None
    ) -> None:
        self.call = MethodCall(method, seed, dict(options or {}))
        self.host: Host = (host or MethodProcess()) if has_process(method, self.call.options) else MethodInProgram()
        self.name = published_name(method)

    def fit(self, context: FitContext) -> dict[str, Any]:
        """Fit the method; its notes go into the run."""
        return self.host.fit(self.call, context.arrays)

    def __call__(self, images: Images) -> Sequence[Scalars]:
        """Both heads' probabilities of each photo, in the batch and alone."""
        answers = zip(*self.host.predict(np.stack(images)), strict=True)
        return [Scalars(dict(zip((*HEADS, *ALONE), (*batch, *alone), strict=True))) for batch, alone in answers]

    def close(self) -> None:
        """End the method's process."""
        self.host.close()


def has_process(method: Any, options: Mapping[str, Any]) -> bool:
    """Whether a method can run in its own process: it has a name, and its options are plain values.

    >>> has_process("spatial", {"insist": True}), has_process(object(), {}), has_process("erm", {"settings": object()})
    (True, False, False)
    """
    try:
        json.dumps(dict(options))
    except (TypeError, ValueError):
        return False
    return isinstance(method, str)


def published_name(method: Any) -> str:
    """The name of a method in a run: without the folders of a file.

    >>> published_name("spatial"), published_name("code/mine.py:Heads")
    ('spatial', 'mine.py:Heads')
    """
    name = method_name(method)
    return Path(name).name if ".py:" in name else name


def method_card(method: Any, options: Mapping[str, Any] | None = None) -> ModelCard:
    """The card of a method: our methods have a hash of all their code, foreign ones a hash of their file."""
    name, settings = published_name(method), dict(options or {})
    ours = isinstance(method, str) and not is_code(method)
    code = own_code() if ours else _file_of(method)
    content = hashlib.sha256(f"{countenance.__version__} {name} {code}".encode()).hexdigest()
    return ModelCard(name=name, description="two heads", content=content, hashed=ours, settings=settings)


@cache
def own_code() -> str:
    """A hash of the code of our methods, since the version number does not change with every edit."""
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _file_of(method: Any) -> str:
    """A hash of the source file of a foreign method, without importing it."""
    if not isinstance(method, str):
        kind = method if isinstance(method, type) else type(method)
        module = sys.modules.get(kind.__module__)
        origin = getattr(module, "__file__", None)
    else:
        module_name = method.rpartition(":")[0]
        origin = module_name if module_name.endswith(".py") else _origin(module_name)
    return file_hash(Path(origin)) if origin and Path(origin).is_file() else method_name(method)


def _origin(module: str) -> str | None:
    """The file of a module, in the current folder or installed, without importing its package."""
    package, *inner = module.split(".")
    spec = None if Path(f"{package}.py").is_file() else find_spec(package)
    root = Path() if spec is None or spec.origin is None else Path(spec.origin).parent
    parts = module.split(".") if spec is None or not spec.submodule_search_locations else inner
    if not parts:
        return None if spec is None else spec.origin
    return next(
        (
            str(path)
            for path in (root.joinpath(*parts).with_suffix(".py"), root.joinpath(*parts, "__init__.py"))
            if path.is_file()
        ),
        None,
    )
