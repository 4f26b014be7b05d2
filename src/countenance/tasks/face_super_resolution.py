"""Is the face restored from a small picture? The model shrinks and enlarges it; the result against the original."""

from countenance.answers import Picture
from countenance.tasks.face_encoding import METRICS, score, to_picture
from countenance.tasks.task import Task

FACE_SUPER_RESOLUTION = Task(
    name="face_super_resolution",
    question="Is the face restored from a small picture?",
    answer=Picture,
    metrics=METRICS,
    coerce=to_picture,
    score=score,
    asks=lambda sample: len(sample.subjects) == 1,
    needs=("picture",),
)
