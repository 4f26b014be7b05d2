"""The published base class of wrappers and the helpers for images and files.

Only the loader needs torch; torchvision is not needed.
"""

import json
import logging
import os
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

LOG = logging.getLogger("countenance.fhibe")


class BaseModelWrapper(ABC):
    """A model in `self.model`, with the methods that FHIBE's protocol requires.

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


def open_image_with_pil(image_path: str, exif_transpose: bool = True, grayscale: bool = False) -> Any:
    """A picture as PIL opens it, RGB or grey, turned by its EXIF entry; None, with a warning, if unreadable."""
    from PIL import Image, ImageOps

    try:
        with Image.open(image_path) as stored:
            picture = ImageOps.exif_transpose(stored) if exif_transpose else stored
            return picture.convert("L" if grayscale else "RGB")
    except (OSError, ValueError, Image.DecompressionBombError) as error:
        LOG.warning("%s: cannot be read (%s)", image_path, error)
        return None


def pil_image_collate_function(batch: Sequence[dict[str, Any]]) -> dict[str, list[Any]]:
    """A batch as lists, for pictures that are not tensors.

    >>> pil_image_collate_function([{"images": 1, "image_paths": "a"}, {"images": 2, "image_paths": "b"}])
    {'images': [1, 2], 'image_paths': ['a', 'b']}
    """
    return {name: [item[name] for item in batch] for name in ("images", "image_paths")}


def _as_it_is(picture: Any) -> Any:
    return picture


class ImageDataset:
    """Pictures by path, for a torch DataLoader: items {"images", "image_paths"}."""

    def __init__(
        self,
        image_paths: Sequence[str],
        exif_transpose: bool,
        transform: Callable[[Any], Any] | None = None,
        grayscale: bool = False,
    ) -> None:
        self.image_paths = image_paths
        self.exif_transpose = exif_transpose
        self.transform = _as_it_is if transform is None else transform
        self.grayscale = grayscale

    def __len__(self) -> int:
        return len(self.image_paths)

    def __getitem__(self, image_index: int) -> dict[str, Any]:
        path = self.image_paths[image_index]
        picture = open_image_with_pil(path, self.exif_transpose, self.grayscale)
        return {"images": None if picture is None else self.transform(picture), "image_paths": path}


def image_data_loader_from_paths(
    transform: Callable[[Any], Any] | None,
    image_paths_1: Sequence[str],
    image_paths_2: Sequence[str] | None = None,
    exif_transpose: bool = True,
    batch_size: int = 32,
    shuffle: bool = False,
    num_workers: int = 8,
    grayscale: bool = False,
    collate_fn: Callable[[Any], Any] | None = None,
) -> Any:
    """A torch DataLoader over pictures; a pair of them if a second list is given.

    Pictures without a transform are collated as lists. No more workers are started than the machine has cores.
    """
    from torch.utils.data import DataLoader

    if collate_fn is None and transform is None:
        collate_fn = pil_image_collate_function

    def loader(paths: Sequence[str]) -> Any:
        return DataLoader(
            ImageDataset(paths, exif_transpose, transform, grayscale),  # type: ignore[arg-type,unused-ignore]
            batch_size=batch_size,
            shuffle=shuffle,
            num_workers=min(num_workers, os.cpu_count() or 1),
            collate_fn=collate_fn,
        )

    return loader(image_paths_1) if image_paths_2 is None else (loader(image_paths_1), loader(image_paths_2))


def get_project_root() -> str:
    """The project folder of the running script: the nearest with .git or pyproject.toml.

    Without such a folder it is the current one. Results go to `results` in it unless another folder is named.
    """
    script = getattr(sys.modules.get("__main__"), "__file__", None)
    for folder in Path(script).resolve().parents if script else ():
        if any((folder / mark).exists() for mark in (".git", "pyproject.toml", "setup.py")):
            return str(folder)
    return str(Path.cwd())


def read_json_file(filepath: str) -> Any:
    """The content of a JSON file."""
    return json.loads(Path(filepath).read_text(encoding="utf-8"))


def save_json_file(filepath: str, data: Any, indent: int | str | None = None) -> None:
    """Write a JSON file."""
    Path(filepath).write_text(json.dumps(data, indent=indent), encoding="utf-8")


def check_list_lengths(list_1: Sequence[Any], list_2: Sequence[Any]) -> None:
    """Refuse two lists of different lengths."""
    if len(list_1) != len(list_2):
        raise ValueError(f"lists of {len(list_1)} and {len(list_2)} items; expected the same number in both")


def setup_logging(level: str | int | None = "debug") -> None:
    """Log lines of this level and above to the standard error."""
    named = logging.getLevelNamesMapping().get(str(level).upper(), logging.DEBUG)
    logging.basicConfig(level=level if isinstance(level, int) else named, format="[%(levelname)s]: %(message)s")


def create_folders(filepath: str) -> None:
    """Make the folder of a file."""
    Path(filepath).parent.mkdir(parents=True, exist_ok=True)
