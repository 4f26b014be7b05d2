"""Models that read their pictures themselves: they get paths, prepare batches, and return an answer for each image."""

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any, Protocol, runtime_checkable

from countenance.answers.raw import described
from countenance.errors import InputError, ModelError
from countenance.text import kind_of, words_of

_END = object()


@runtime_checkable
class PathModel(Protocol):
    """Makes batches of the images at some paths, and returns one answer for each image of a batch."""

    def data_preprocessor(self, img_filepaths: list[str], **keywords: Any) -> Iterable[Any]: ...
    def __call__(self, batch: Any) -> Any: ...


def answers_by_path(
    model: PathModel,
    paths: list[str],
    images: Sequence[str] | None = None,
    step: Callable[[int], None] = lambda n: None,
    **keywords: Any,
) -> Iterator[tuple[str, Any]]:
    """Each of the images with its answer, batch by batch; a wrong number of answers is refused.

    `paths` and `keywords` go to the model's preprocessor; `images` are those that it answers for (None: all paths).

    >>> class Lengths:
    ...     data_preprocessor = lambda self, paths: [paths]
    ...     __call__ = lambda self, batch: [len(path) for path in batch]
    >>> list(answers_by_path(Lengths(), ["a.png", "bc.png"]))
    [('a.png', 5), ('bc.png', 6)]
    """
    images, done = paths if images is None else images, 0

    def place() -> str:
        return images[min(done, len(images) - 1)] if images else paths[0]

    with blamed(place()):
        loader = model.data_preprocessor(paths, **keywords)
    if not hasattr(loader, "__iter__"):
        raise ModelError(f"data_preprocessor() returned {described(loader)}, expected batches")
    with blamed(place()):
        batches = iter(loader)
    torch = sys.modules.get("torch")
    while True:
        with blamed(place()), torch.no_grad() if torch is not None else nullcontext():
            batch = next(batches, _END)
            answers: Any = None if batch is _END else model(batch)
        if batch is _END:
            break
        if isinstance(answers, (str, bytes, Mapping)) or not hasattr(answers, "__iter__"):
            description = described(answers)
            raise ModelError(
                f"{place()}: the model returned {description} for a batch, expected a list with an answer each"
            )
        each = list(answers)
        for answer in each:
            if done == len(images):
                raise ModelError(f"the model answered more than {len(images)} times for {len(images)} images")
            yield images[done], answer
            done += 1
        step(len(each))
    if done != len(images):
        raise ModelError(f"the model answered {done} times for {len(images)} images; one answer for each")


@contextmanager
def blamed(image: str) -> Iterator[None]:
    """Turn any error in the model's own code, or in its answer, into an error that names the image."""
    try:
        yield
    except InputError as error:
        text = words_of(error)
        raise ModelError(text if text.startswith(image) else f"{image}: {text}") from error.__cause__
    except (Exception, SystemExit) as error:
        first = (words_of(error).strip().splitlines() or [""])[0]
        raise ModelError(f"{image}: the model raised {kind_of(error)}: {first}") from error
