"""The words for what models find and tasks need, so that a mismatch is reported before hours of work."""

from collections.abc import Sequence

from countenance.data.tables import near
from countenance.errors import ModelError

FINDS = {
    "face": "faces",
    "person": "people",
    "mask": "masks",
    "labels": "attributes",
    "embedding": "face embeddings",
    "age": "ages",
    "keypoints": "keypoints",
    "person_mask": "masks of people",
    "face_parts": "parts of faces",
    "body_parts": "parts of bodies",
    "picture": "pictures",
}
"""Each word with its plural in a sentence. A detector of masked faces finds faces and masks."""


def to_finds(value: object, model: str) -> tuple[str, ...]:
    """The kinds that a model says it finds (`finds = "face"`, or several words), checked.

    >>> to_finds("face", "mine"), to_finds(None, "mine")
    (('face',), ())
    >>> to_finds("faces", "mine")
    Traceback (most recent call last):
    countenance.errors.ModelError: model 'mine': finds 'faces' (did you mean face or face_parts?); there are face, ...
    """
    if value is None or callable(value):  # a method of that name is not the field
        return ()
    words: Sequence[object] = [value] if isinstance(value, str) else list(value) if isinstance(value, Sequence) else []
    if not words:
        raise ModelError(f"model {model!r}: finds is {value!r}, expected a word such as 'face', or several")
    for word in words:
        if word not in FINDS:
            raise ModelError(
                f"model {model!r}: finds {word!r}{near(str(word), list(FINDS))}; there are {', '.join(FINDS)}"
            )
    return tuple(str(word) for word in words)


def in_words(finds: Sequence[str]) -> str:
    """Kinds such as `face`, as words of a sentence.

    >>> in_words(("face", "mask"))
    'faces and masks'
    """
    return " and ".join(FINDS.get(word, word) for word in finds)
