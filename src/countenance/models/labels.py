"""The names of the zoo's models as their authors write them; every page takes the name of a model from here."""

MODELS = {
    "mtcnn": "MTCNN",
    "haar": "Haar",
    "yunet": "YuNet",
    "rfb320": "RFB-320",
    "wearmask": "WearMask",
    "aizoo": "AIZOO",
    "bicubic": "Bicubic",
    "jpeg": "JPEG",
    "ir101": "IR-101",
}
"""The zoo's models under the names that their authors write."""


def model_label(name: str) -> str:
    """A model as a sentence names it.

    >>> model_label("mtcnn"), model_label("my-detector")
    ('MTCNN', 'my-detector')
    """
    return MODELS.get(name, name)
