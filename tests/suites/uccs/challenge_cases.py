"""Small random cases full of ties, and what it means that two curves agree."""

import numpy as np
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

SUBJECTS = 4
IMAGES = ("a.jpg", "b.jpg", "c d.jpg")

image = st.sampled_from(IMAGES)
box = st.tuples(st.integers(0, 12), st.integers(0, 6), st.integers(1, 8), st.integers(1, 8)).map(
    lambda b: tuple(v / 2 for v in b)
)
score = st.integers(0, 6).map(lambda v: v / 8)
faces = st.lists(st.tuples(image, st.integers(-1, SUBJECTS), box), min_size=1, max_size=7)
labels = st.lists(st.tuples(st.integers(-1, SUBJECTS + 1), score), max_size=5)
similar = st.lists(score, min_size=SUBJECTS, max_size=SUBJECTS)
detections = st.lists(st.tuples(image, box, score, labels, similar), min_size=1, max_size=9)
# Two files draw from here, so that CI sees 2,200 cases and every worker does its part.
many = settings(max_examples=1100, deadline=None, suppress_health_check=list(HealthCheck))


def grouped(rows):
    found = {}
    for name, *rest in rows:
        found.setdefault(name, []).append(tuple(rest))
    return found


def agree(evaluation, points):
    x, y = evaluation.curve.x, evaluation.curve.y
    assert len(x) == len(points)
    np.testing.assert_allclose(x, [p[0] for p in points], rtol=0, atol=1e-12)
    np.testing.assert_allclose(y, [p[1] for p in points], rtol=0, atol=1e-12)


def some_here(faces, detections):
    """The detections, at least one of them in an image of the protocol."""
    if any(name == face[0] for name, *_ in detections for face in faces):
        return detections
    return [(faces[0][0], *detections[0][1:]), *detections[1:]]
