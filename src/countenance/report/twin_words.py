"""The words for what is changed on twins: "a mask", "with a mask", "made older", "darkest copy"."""

from countenance.auditing.directions import HIGHER, LOWER
from countenance.auditing.ordering import AGE_WORDS, TONE_WORDS
from countenance.auditing.twins import BASE, CHANGED, FIRST, LAST
from countenance.report.people_words import BEFORE, ValueWords

UNCHANGED = "unchanged"
_THINGS = {
    "mask": "a mask",
    "light": "the light",
    "pose": "the pose",
    "background": "the background",
    "expression": "the expression",
    "distance": "the distance",
}
_CHANGED = {
    "mask": "with a mask",
    "light": "in other light",
    "pose": "in another pose",
    "background": "before another background",
    "expression": "with another expression",
    "hair": "with other hair",
    "headwear": "with headwear",
    "glasses": "with glasses",
    "sunglasses": "with sunglasses",
    "makeup": "with makeup",
    "occlusion": "partly covered",
    "blur": "blurred",
    "noise": "with noise",
    "compression": "compressed",
}
_ENDS = {"tone": ("lightest copy", "darkest copy"), "age": ("youngest copy", "oldest copy")}
_ENDS |= {"distance": ("nearest copy", "farthest copy")}
_LATER = {"tone": "darker copy", "age": "older copy", "distance": "farther copy"}
_WAYS = {"age": ("made younger", "made older"), "distance": ("nearer", "farther away")}


def thing_words(attribute: str) -> str:
    """The changed thing, as a noun in a sentence.

    >>> thing_words("skin_tone"), thing_words("mask"), thing_words("sunglasses")
    ('skin tone', 'a mask', 'sunglasses')
    """
    return _THINGS.get(attribute, attribute.replace("_", " "))


def changed_label(attribute: str) -> str:
    """The label of a changed picture, whatever the value.

    >>> changed_label("mask"), changed_label("blur"), changed_label("camera_height")
    ('with a mask', 'blurred', 'camera height changed')
    """
    return _CHANGED.get(attribute, f"{attribute.replace('_', ' ')} changed")


def end_labels(attribute: str) -> tuple[str, str]:
    """The labels of the first and the last copy of a person by an ordered thing.

    >>> end_labels("skin_tone"), end_labels("zoom")
    (('lightest copy', 'darkest copy'), ('lowest zoom', 'highest zoom'))
    """
    name = attribute.replace("_", " ")
    return _ENDS.get(_kind(attribute), (f"lowest {name}", f"highest {name}"))


def later_copy(attribute: str) -> str:
    """The words for a later copy of a person by an ordered thing, beside an earlier copy.

    >>> later_copy("skin_tone"), later_copy("zoom")
    ('darker copy', 'later copy')
    """
    return _LATER.get(_kind(attribute), "later copy")


def version_words(attribute: str, group: str) -> ValueWords | None:
    """The words for a version of twins; None for a value of the attribute, which has words of its own.

    >>> [version_words("age", group).label for group in ("base", "higher", "last version", "changed")]
    ['unchanged', 'made older', 'oldest copy', 'age changed']
    >>> version_words("sunglasses", "sunglasses").label, version_words("mask", "blue")
    ('with sunglasses', None)
    """
    if group == BASE:
        return ValueWords(UNCHANGED, BEFORE)
    if group in (CHANGED, attribute):
        return ValueWords(changed_label(attribute))
    if group in (FIRST, LAST):
        return ValueWords(end_labels(attribute)[group == LAST])
    if group in (LOWER, HIGHER):
        name = attribute.replace("_", " ")
        return ValueWords(_WAYS.get(_kind(attribute), (f"lower {name}", f"higher {name}"))[group == HIGHER])
    return None


def _kind(attribute: str) -> str:
    """The kind of order that a thing has: "tone", "age", or for other things the attribute itself."""
    words = set(attribute.split("_"))
    if words & set(TONE_WORDS):
        return "tone"
    return "age" if words & set(AGE_WORDS) else attribute
