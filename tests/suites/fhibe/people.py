"""Tiny rendered people, enough to make data from."""

import numpy as np

from countenance.data import ArrayImage, DatasetCard, Rle, Sample, Subject

SIZE = 96
CARD = DatasetCard(name="tiny people", real_people=False)


def body(i: int) -> Sample:
    rng = np.random.default_rng(i)
    mask = np.zeros((SIZE, SIZE), bool)
    mask[20:80, 30:60] = True
    points = np.column_stack([rng.uniform(32, 58, 17), rng.uniform(22, 78, 17), np.full(17, 2.0)])
    subject = Subject(
        id=f"p{i}",
        identity=f"p{i // 2}",
        person_box=np.array([30.0, 20, 60, 80]),
        face_box=np.array([35.0, 20, 55, 40]),
        keypoints=points,
        mask=Rle.encode(mask),
        body_parts=("Face", "Head hair", "Torso", "Left hand"),
        attributes={
            "gender": ("female", "male")[i % 2],
            "age": 20.0 + 5 * (i // 2 % 8),
            "skin_tone": f"monk_{1 + i % 10}",
        },
    )
    image = ArrayImage(rng.integers(0, 256, (SIZE, SIZE, 3), dtype=np.uint8))
    return Sample(f"b{i}", image, SIZE, SIZE, (subject,), {"light": "bright", "background": "plain"})


def portrait(i: int) -> Sample:
    rng = np.random.default_rng(100 + i // 3)
    face, nose = np.zeros((SIZE, SIZE), bool), np.zeros((SIZE, SIZE), bool)
    face[20:70, 25:70] = True
    nose[40:50, 42:52] = True
    ear = np.zeros((SIZE, SIZE), bool)
    ear[35:45, 20:25] = True
    subject = Subject(
        id=f"q{i // 3}",
        identity=f"q{i // 3}",
        face_box=np.array([25.0, 20, 70, 70]),
        face_parts={"skin": Rle.encode(face & ~nose), "nose": Rle.encode(nose), "l_ear": Rle.encode(ear)},
        attributes={"gender": ("female", "male")[i // 3 % 2], "age": 30.0, "skin_tone": f"monk_{1 + i // 3 % 10}"},
    )
    picture = np.kron(rng.integers(0, 256, (12, 12, 3), dtype=np.uint8), np.ones((8, 8, 1), np.uint8))
    return Sample(f"f{i}", ArrayImage(picture), SIZE, SIZE, (subject,), {"light": "side", "background": "room"})


def pair(i: int) -> Sample:
    """Two people side by side; only the one on the left shows a hand, and keypoints lie on a grid in each box."""
    subjects = []
    for side, x in enumerate((10, 55)):
        mask = np.zeros((SIZE, SIZE), bool)
        mask[20:80, x : x + 30] = True
        grid = [[x + 1 + k % 5 * 6, 22 + k // 5 * 14, 2.0] for k in range(17)]
        subjects.append(
            Subject(
                id=f"p{i}-{side}",
                identity=f"p{i}-{side}",
                person_box=np.array([x, 20.0, x + 30, 80]),
                face_box=np.array([x + 5.0, 20, x + 25, 40]),
                keypoints=np.array(grid),
                mask=Rle.encode(mask),
                body_parts=("Face", "Torso", *(("Left hand",) if side == 0 else ())),
                attributes={
                    "gender": ("female", "male")[i % 2],
                    "age": 20.0 + 5 * (i % 8),
                    "skin_tone": f"monk_{1 + i % 10}",
                },
            )
        )
    pixels = np.random.default_rng(i).integers(0, 256, (SIZE, SIZE, 3), dtype=np.uint8)
    return Sample(f"pair{i}", ArrayImage(pixels), SIZE, SIZE, tuple(subjects), {"light": "bright"})
