"""The base class of published wrappers."""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any


class BaseModelWrapper(ABC):
    """A model in `self.model`, with what FHIBE's protocol asks of it.

    >>> class Whole(BaseModelWrapper):
    ...     def data_preprocessor(self, img_filepaths, **kwargs):
    ...         return [img_filepaths]
    ...     def __call__(self, batch):
    ...         return [self.model(path) for path in batch]
    >>> Whole(len)(["a.png"])
    [5]
    """

    def __init__(self, model: Any) -> None:
        self.model = model

    @abstractmethod
    def data_preprocessor(self, img_filepaths: list[str], **kwargs: Any) -> Iterable[Any]:
        """Batches of the images, such as a torch DataLoader."""

    @abstractmethod
    def __call__(self, batch: Any) -> Any:
        """One answer for each image of a batch, in the form of the task."""
