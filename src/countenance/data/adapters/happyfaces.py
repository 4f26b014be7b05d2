"""HappyFaces' photos as a dataset: those that runs score, and behind them the three sets that methods learn from."""

import hashlib
import re
from collections.abc import Collection
from pathlib import Path
from urllib.parse import parse_qsl

from countenance.data.adapters.happyfaces_layout import MATCHED, HappyFaces, read_happyfaces
from countenance.data.card import RENDERED_CONSENT, RENDERED_LICENCE, AttributeCard, DatasetCard
from countenance.data.image import ArrayImage
from countenance.data.sample import Dataset, Sample, Subject
from countenance.errors import DataError

CITATIONS = (
    "Armstrong, S; Cooper, J; Daniels-Koch, O; and Gorman, R: The HappyFaces Benchmark. Aligned AI Limited, published "
    "public benchmark, 2022.",
    "Arigbabu, OA, et al.: Smile detection using hybrid face representation. Journal of Ambient Intelligence and "
    "Humanized Computing, 2016, 1–12.",
    "Sanderson, C and Lovell, BC: Multi-Region Probabilistic Histograms for Robust and Scalable Identity Inference. "
    "ICB 2009, LNCS 5558, pp. 199–208, 2009.",
    "Huang, GB; Mattar, M; Berg, T and Learned-Miller, E: Labeled faces in the wild: a database for studying face "
    "recognition in unconstrained environments. University of Massachusetts, Amherst, Technical Report, 2007.",
)
CITATION = " ".join(CITATIONS)
LICENCE = "none stated in its repository; the photos are those of LFW (cropped), which are for research"
CONSENT = "the people in the photos (LFW, from the news) were not asked"
"""By what right the photos are used."""
MEANINGS = {
    "part": "which set the photo is of: validation, not_drawn (unlabelled, scored where not drawn), held_back",
    "type": "F(ace) H(appy) or S(ad), W(riting) H(APPY) or S(AD)",
    "agree": "whether both features say the same, as they do in every labelled photo",
}
SET_OF = {"validation": "validation", "not_drawn": "unlabelled", "held_back": "held_back"}
"""The set that each part's photos belong to; their ids begin with it."""


def identity_of(name: str) -> str:
    """The person in a photo: LFW's files are named after people; in other sets each photo is its own person.

    >>> identity_of("Ann_Lee_0002.jpg"), identity_of("0001_FHWH.png")
    ('Ann_Lee', '0001_FHWH')
    """
    return person_of(name) or name.split(".")[0]


def person_of(name: str) -> str | None:
    """The person after whom a file is named as in LFW; None for other names."""
    match = re.fullmatch(r"(\D+)_\d{4}(_\D.*)?", name.split(".")[0])
    return match.group(1) if match else None


def overlap(data: HappyFaces) -> list[str]:
    """A sentence on validation photos of people who are also in labelled or unlabelled photos, if there are any."""
    people = [person_of(name) for name in data.validation.names]
    counts = {}
    for word, photos in (("labelled", data.labelled), ("unlabelled", data.unlabelled)):
        others = {person_of(name) for name in photos.names} - {None}
        counts[word] = sum(person in others for person in people)
    if not any(counts.values()):
        return []
    listed = " and ".join(f"{n} show people who are in {word} photos too" for word, n in counts.items() if n)
    return [f"of {len(people)} validation photos {listed} (by the names of the files)"]


def attributes_of(tag: str, features: tuple[str, str]) -> dict[str, str]:
    """The attributes of a photo of a type.

    >>> attributes_of("FHWS", ("face", "writing"))
    {'type': 'FHWS', 'agree': 'disagree', 'face': 'happy', 'writing': 'sad'}
    """
    words = {"H": "happy", "S": "sad"} if features == ("face", "writing") else {"H": "yes", "S": "no"}
    agree = "agree" if tag in MATCHED else "disagree"
    return {"type": tag, "agree": agree, features[0]: words[tag[1]], features[1]: words[tag[3]]}


def card_of(data: HappyFaces) -> DatasetCard:
    """The card of HappyFaces as a dataset."""
    return DatasetCard(
        name="happyfaces",
        description="Labelled photos in which two features agree, unlabelled ones in which some disagree",
        licence=LICENCE if data.real_people else RENDERED_LICENCE,
        consent=CONSENT if data.real_people else RENDERED_CONSENT,
        citation=CITATION,
        real_people=data.real_people,
        attributes={name: AttributeCard(assigned_by="annotated", meaning=text) for name, text in MEANINGS.items()},
    )


class HappyFacesDataset(Dataset):
    """The photos that runs score, and behind them the three sets, from which a task draws what methods are fitted on.

    Photos of all types and parts come in the order of their pixels' hashes, so neighbours in a batch reveal nothing.
    """

    def __init__(self, data: HappyFaces, only: Collection[str] | None = None, *, whole: bool = False) -> None:
        """With `only`, these photos; with `whole` they are all that a run of a draw scores and keep its fingerprint."""
        self.data, self._print = data, data.fingerprint()
        samples = []
        for part, photos in data.scored().items():
            for name, tag, file, pixels in zip(
                photos.ids(SET_OF[part]), photos.tags, photos.names, photos.pixels, strict=True
            ):
                if only is None or name in only:
                    subject = Subject(id=file, identity=identity_of(file), attributes=attributes_of(tag, data.features))
                    height, width = pixels.shape[:2]
                    samples.append(Sample(name, ArrayImage(pixels), width, height, (subject,), {"part": part}))
        samples.sort(key=lambda sample: hashlib.sha256(sample.load().tobytes()).digest())
        super().__init__(card_of(data), samples, notes=overlap(data))
        if only is not None and not whole:
            self._print = hashlib.sha256(f"{self._print} {sorted(only)}".encode()).hexdigest()

    def fingerprint(self) -> str:
        """The fingerprint of the three sets, and of the chosen photos where these are a part."""
        return self._print

    def truth_fingerprint(self) -> str:
        """The fingerprint itself, since pictures and labels are arrays of these sets."""
        return self._print


def source_of(folder: Path, held_back: Path | None = None) -> str:
    """The name under which the dataset is loaded again.

    >>> source_of(Path("/data/hf"), Path("/data/held"))
    'happyfaces:/data/hf?held_back=/data/held'
    """
    return f"happyfaces:{folder}" + ("" if held_back is None else f"?held_back={held_back}")


def load(part: str | None) -> Dataset:
    """The dataset behind `happyfaces:FOLDER`, or with a set held back `happyfaces:FOLDER?held_back=DIR`."""
    folder, _, query = (part or "").partition("?")
    options = dict(parse_qsl(query, keep_blank_values=True))
    unknown = sorted(set(options) - {"held_back"})
    if unknown:
        raise DataError(f"happyfaces: no option {unknown[0]!r}; there is held_back=DIR")
    held_back = options.get("held_back")
    return HappyFacesDataset(read_happyfaces(Path(folder), Path(held_back) if held_back else None))
