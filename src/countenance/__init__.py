"""Countenance evaluates a vision model on images of people and says, with the evidence, whom it fails.

Everything public is here by name and loads when it is first used, so that `import countenance` costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from countenance import audit as audit
    from countenance import compare as compare
    from countenance.answers import Age, Boxes, Embedding, Keypoints, LabelMap, Labels, Masks, Parts, Picture
    from countenance.audit import Audit, Finding, plan
    from countenance.compare import Comparison
    from countenance.data import (
        ArrayImage,
        AttributeCard,
        Dataset,
        DatasetCard,
        LazyImage,
        Rle,
        Sample,
        Subject,
        load_dataset,
    )
    from countenance.errors import InputError
    from countenance.gating import Gate, gate
    from countenance.models import ModelCard, ModelSpec
    from countenance.run.evaluate import evaluate
    from countenance.run.run import Run
    from countenance.tasks import Metric, Task, load_task

_HOME = {
    "ArrayImage": "data",
    "AttributeCard": "data",
    "Audit": "audit",
    "Boxes": "answers",
    "Comparison": "compare",
    "Dataset": "data",
    "DatasetCard": "data",
    "Age": "answers",
    "Embedding": "answers",
    "Finding": "audit",
    "Gate": "gating",
    "InputError": "errors",
    "Keypoints": "answers",
    "LabelMap": "answers",
    "Labels": "answers",
    "LazyImage": "data",
    "Masks": "answers",
    "Metric": "tasks",
    "ModelCard": "models",
    "ModelSpec": "models",
    "Parts": "answers",
    "Picture": "answers",
    "Rle": "data",
    "Run": "run",
    "Sample": "data",
    "Subject": "data",
    "Task": "tasks",
    "audit": "audit",
    "compare": "compare",
    "evaluate": "run",
    "gate": "gating",
    "load_dataset": "data",
    "load_task": "tasks",
    "plan": "audit",
}
"""The package or module of each public name."""

__all__ = [
    "Age",
    "ArrayImage",
    "AttributeCard",
    "Audit",
    "Boxes",
    "Comparison",
    "Dataset",
    "DatasetCard",
    "Embedding",
    "Finding",
    "Gate",
    "InputError",
    "Keypoints",
    "LabelMap",
    "Labels",
    "LazyImage",
    "Masks",
    "Metric",
    "ModelCard",
    "ModelSpec",
    "Parts",
    "Picture",
    "Rle",
    "Run",
    "Sample",
    "Subject",
    "Task",
    "audit",
    "compare",
    "evaluate",
    "gate",
    "load_dataset",
    "load_task",
    "plan",
]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        home = import_module(f"countenance.{_HOME[name]}")
        return home if name == _HOME[name] else getattr(home, name)
    raise AttributeError(f"module 'countenance' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
