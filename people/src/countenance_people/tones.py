"""How near the ten skin tones come to the published swatches, measured on the rendered cheek in the reference light."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from countenance_people import palette
from countenance_people.draw import draw_identity, draw_person
from countenance_people.labels import CODE
from countenance_people.mesh import Array
from countenance_people.spec import PictureSpec, Shot
from countenance_people.studio import Picture, Quality, photograph


@dataclass(frozen=True)
class Tone:
    """A tone, its published colour, the colour of the cheek, and the distance of the two (CIEDE2000)."""

    tone: int
    published: str
    cheek: str
    distance: float


def reference(tone: int, size: int = 160) -> PictureSpec:
    """A plain frontal face of a tone in even light, exposed for that light."""
    plain = {"blush": 0.0, "freckles": 0.0, "moles": 0, "lipstick": False, "iris": "brown"}
    identity = draw_identity("tone", 81, "female", "18_30", 5, "buzz", "black", **plain)
    rng = np.random.default_rng(82)
    person = draw_person(identity, rng, yaw=0.0, pitch=0.0, roll=0.0, layer="none", neckline="crew")
    spec = PictureSpec(
        sample=f"tones/monk_{tone}",
        part="twins",
        width=size,
        height=size,
        split="test",
        seed=83,
        light="even",
        background="plain",
        exposure="fixed",
        persons=(person,),
        shot=Shot(zoom=1.4, noise=0.0),
    )
    return with_tone(spec, tone)


def with_tone(spec: PictureSpec, tone: int) -> PictureSpec:
    """The picture with another skin tone."""
    (person,) = spec.persons
    return replace(spec, persons=(replace(person, identity=replace(person.identity, skin_tone=tone)),))


def cheek(picture: Picture) -> Array:
    """The median colour (0 to 255) of both cheeks: below the eyes, half way to the corners of the mouth."""
    assert picture.maps is not None
    points = np.array(picture.subjects[0]["landmarks"]).reshape(5, 2)
    eyes, corners = points[:2], points[3:]
    radius = 0.16 * np.linalg.norm(eyes[1] - eyes[0])
    y, x = np.mgrid[0 : picture.image.shape[0], 0 : picture.image.shape[1]] + 0.5
    chosen = np.zeros(x.shape, bool)
    for eye, corner in zip(eyes, corners, strict=True):
        middle = np.array([eye[0], (eye[1] + corner[1]) / 2])
        chosen |= np.hypot(x - middle[0], y - middle[1]) < radius
    chosen &= picture.maps.label == CODE["skin"]
    return np.asarray(np.median(picture.image[chosen], 0))


def measure(quality: Quality = Quality()) -> Iterator[Tone]:
    """The ten tones, rendered and measured one after another."""
    from skimage.color import deltaE_ciede2000, rgb2lab

    for tone, published in enumerate(palette.MONK, 1):
        colour = cheek(photograph(reference(tone), quality=quality)) / 255
        swatch = np.array([int(published[i : i + 2], 16) for i in (1, 3, 5)]) / 255
        distance = float(deltaE_ciede2000(rgb2lab(swatch), rgb2lab(colour)))
        code = "#" + "".join(f"{round(float(value) * 255):02x}" for value in colour)
        yield Tone(tone, published, code, round(distance, 1))
