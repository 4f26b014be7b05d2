"""The common names of columns, and their meanings."""

import re

from countenance.settings.box_words import Form

FILE = frozenset(
    {
        "file",
        "files",
        "filename",
        "filenames",
        "fname",
        "filepath",
        "fullpath",
        "relativepath",
        "relpath",
        "path",
        "paths",
        "image",
        "images",
        "imagename",
        "imagefile",
        "imagefilename",
        "imagepath",
        "imagefilepath",
        "img",
        "imgname",
        "imgpath",
        "imgfile",
        "picture",
        "picturename",
        "photo",
        "photoname",
        "frame",
        "framename",
        "framepath",
        "facefile",
        "facepath",
        "faceimage",
        "datei",
        "dateiname",
        "bild",
        "bildname",
        "bilddatei",
        "fichier",
        "archivo",
    }
)
"""Columns that name pictures; others are recognised by what they hold."""
PERHAPS_FILE = frozenset({"imageid", "imgid", "imageurl", "imgurl", "url", "uri", "src"})
"""Columns that name pictures if no other column does."""
PERSON = (
    "identity",
    "identityid",
    "person",
    "personid",
    "subjectid",
    "speaker",
    "speakerid",
    "patient",
    "patientid",
    "participant",
    "participantid",
    "participantno",
    "participantnr",
    "participantnumber",
    "participantcode",
    "subjectno",
    "subjectnr",
    "subjectnumber",
    "subjectcode",
    "subj",
    "subjid",
    "personno",
    "personnumber",
    "personcode",
    "userid",
    "user",
    "individual",
    "individualid",
    "personname",
    "subjectname",
    "celebrity",
    "celebrityid",
    "celebrityname",
    "celebid",
    "actor",
    "actorid",
    "proband",
    "probandid",
    "teilnehmer",
    "teilnehmerid",
    "versuchsperson",
    "personne",
    "sujet",
    "persona",
    "sujeto",
    "participante",
    "pid",
    "uid",
    "whois",
)
"""Columns that identify the person, the preferred one first."""
PERHAPS_PERSON = ("subject", "name", "id")
"""Columns that identify the person if no other does and their values repeat."""
CLASS = frozenset(
    {
        "class",
        "classname",
        "classes",
        "category",
        "categoryname",
        "categories",
        "label",
        "labelname",
        "labels",
        "object",
        "objectclass",
        "objectname",
        "type",
        "name",
    }
)
"""Columns that may say what a box shows."""
SPLIT = frozenset({"split", "subset", "set", "partition", "fold", "usage"})
SPLIT_WORDS = {
    "train": "train",
    "training": "train",
    "trn": "train",
    "val": "validation",
    "valid": "validation",
    "dev": "validation",
    "validation": "validation",
    "eval": "validation",
    "test": "test",
    "testing": "test",
    "tst": "test",
}
SIZES = frozenset(
    {
        "width",
        "height",
        "imagewidth",
        "imageheight",
        "imgwidth",
        "imgheight",
        "imgw",
        "imgh",
        "originalwidth",
        "originalheight",
        "depth",
        "channels",
        "imagesize",
        "filesize",
        "size",
    }
)
NUMBERING = frozenset(
    {"", "index", "idx", "row", "rownumber", "no", "nr", "lfdnr", "unnamed0", "column1", "level0", "indexlevel0"}
)
ONE_BOX = frozenset(
    {
        "bbox",
        "bboxes",
        "box",
        "boxes",
        "boundingbox",
        "boundingboxes",
        "bndbox",
        "rect",
        "rectangle",
        "roi",
        "coords",
        "coordinates",
        "region",
        "location",
    }
)
OUTLINES = frozenset({"polygon", "polygons", "segmentation", "contour", "outline"})
"""Columns of outlines, from which boxes are computed if no column has boxes."""
AGE = frozenset(
    {"age", "ageyears", "ageinyears", "agey", "alter", "alterjahre", "âge", "edad", "età", "idade", "leeftijd"}
)
"""Columns of ages; other words for them become the attribute `age`."""
FACE_PREFIXES = ("face", "head")
PERSON_PREFIXES = ("person", "body", "pedestrian", "ped", "human")
PREFIXES = (
    "",
    *(
        owner + word
        for owner in ("", *FACE_PREFIXES, *PERSON_PREFIXES)
        for word in ("", "bbox", "box", "boundingbox", "bndbox", "rect", "roi", "region")
        if owner + word
    ),
)
XYXY = (
    ("xmin", "ymin", "xmax", "ymax"),
    ("x1", "y1", "x2", "y2"),
    ("x0", "y0", "x1", "y1"),
    ("left", "top", "right", "bottom"),
    ("xtl", "ytl", "xbr", "ybr"),
    ("minx", "miny", "maxx", "maxy"),
    ("xleft", "ytop", "xright", "ybottom"),
    ("startx", "starty", "endx", "endy"),
    ("xstart", "ystart", "xend", "yend"),
    ("tlx", "tly", "brx", "bry"),
    ("l", "t", "r", "b"),
)
CENTRES = (
    ("cx", "cy"),
    ("xc", "yc"),
    ("xcenter", "ycenter"),
    ("centerx", "centery"),
    ("xcentre", "ycentre"),
    ("centrex", "centrey"),
    ("xmid", "ymid"),
)
TOP_LEFTS = (("x", "y"), ("left", "top"), ("xmin", "ymin"), ("x1", "y1"), ("x0", "y0"), ("xtl", "ytl"))
EXTENTS = (
    ("w", "h"),
    ("width", "height"),
    ("dx", "dy"),
    ("b", "h"),
    ("breite", "höhe"),
    ("breite", "hoehe"),
    ("largeur", "hauteur"),
)
SETS: tuple[tuple[Form, tuple[str, ...]], ...] = (
    *(("xyxy", names) for names in XYXY),
    *(("cxcywh", (*centre, *extent)) for centre in CENTRES for extent in EXTENTS),
    *(("xywh", (*corner, *extent)) for extent in EXTENTS for corner in TOP_LEFTS),
)
"""Four columns that are a box, with the form of its numbers; the first that a table has counts."""

INVISIBLE = re.compile("[\u200b-\u200d\u2060\ufeff\u00ad]")
"""Characters without width, which copied headers contain."""


def plain_name(name: str, *, whole: bool = False) -> str:
    """A column's name in the form of attribute names: small letters, words joined by underscores.

    What stands in brackets at its end is left out, unless the `whole` name is needed.

    >>> plain_name("Skin Tone"), plain_name("attr.Ward"), plain_name("Wearing-Hat"), plain_name("Beard (yes/no)?")
    ('skin_tone', 'Ward', 'wearing_hat', 'beard')
    """
    stripped = INVISIBLE.sub("", name).strip()
    if stripped.startswith("attr."):
        return stripped.removeprefix("attr.")
    stripped = (not whole and re.sub(r"(?:\s*[\[(][^\[\]()]*[\])]|[?:*\s])+$", "", stripped)) or stripped
    joined = re.sub(r"[\s\-/.]+", "_", re.sub(r"(?<=[a-z])(?=[A-Z][a-z])", "_", stripped))
    return re.sub(r"__+", "_", joined).strip("_").casefold()


def squashed(name: str) -> str:
    """A column's name for comparisons: letters and digits alone.

    >>> squashed("Image_Path"), squashed("X-Min"), squashed("attr.person")
    ('imagepath', 'xmin', 'person')
    """
    return "".join(letter for letter in name.strip().removeprefix("attr.").casefold() if letter.isalnum())
