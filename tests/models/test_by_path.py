"""Models that read their pictures themselves, and face embeddings by whatever names them."""

import numpy as np
import pytest

from countenance.answers import Embedding
from countenance.errors import InputError
from countenance.models.path_models import PathModel, answers_by_path, blamed
from countenance.suites.fhibe.pictures import face_similarity, load_embedding

PICTURE = np.full((4, 6, 3), 7, np.uint8)


class Twos:
    """Prepares batches of two and answers with what it is told to."""

    def __init__(self, answer, batches=None):
        self.answer, self.batches, self.asked = answer, batches, None

    def data_preprocessor(self, img_filepaths, **keywords):
        self.asked = keywords
        batches = [img_filepaths[a : a + 2] for a in range(0, len(img_filepaths), 2)]
        return batches if self.batches is None else self.batches

    def __call__(self, batch):
        return self.answer(batch)


PATHS = ["a.png", "b.png", "c.png"]


def test_each_image_has_its_answer_batch_by_batch():
    steps, model = [], Twos(lambda batch: [path.upper() for path in batch])
    assert isinstance(model, PathModel)
    found = list(answers_by_path(model, PATHS, step=steps.append, size=3))
    assert found == [("a.png", "A.PNG"), ("b.png", "B.PNG"), ("c.png", "C.PNG")]
    assert steps == [2, 1] and model.asked == {"size": 3}
    other = list(answers_by_path(model, PATHS, ["x", "y", "z"]))
    assert [name for name, _ in other] == ["x", "y", "z"]


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (Twos(lambda batch: None), "a.png: the model returned None for a batch, expected a list"),
        (Twos(lambda batch: {"a": 1}), "a.png: the model returned a dict with a for a batch"),
        (Twos(lambda batch: "text"), "returned str for a batch"),
        (Twos(lambda batch: [1]), "the model answered 2 times for 3 images; one answer for each"),
        (Twos(lambda batch: [1, 2, 3, 4]), "the model answered more than 3 times for 3 images"),
        (Twos(lambda batch: [1], batches=3), r"data_preprocessor\(\) returned int, expected batches"),
        (Twos(lambda batch: batch[1:] if len(batch) > 1 else 1 / 0), "b.png: the model raised ZeroDivisionError: div"),
    ],
)
def test_another_number_of_answers_is_refused(model, words):
    with pytest.raises(InputError, match=words):
        list(answers_by_path(model, PATHS))


def test_what_goes_wrong_names_the_image_once():
    for error, words in [
        (InputError("a.png: bad"), "^a.png: bad$"),
        (InputError("bad"), "^a.png: bad$"),
        (OSError("two\nlines"), "^a.png: the model raised OSError: two$"),
        (SystemExit(), "^a.png: the model raised SystemExit: $"),
    ]:
        with pytest.raises(InputError, match=words), blamed("a.png"):
            raise error
    with pytest.raises(KeyboardInterrupt), blamed("a.png"):
        raise KeyboardInterrupt


def test_how_alike_two_faces_are():
    def similarity(one, other):
        return face_similarity(lambda images: [one, other], PICTURE, PICTURE)

    assert similarity([3, 4], np.array([[4.0, 3.0]])) == pytest.approx(0.96)
    assert similarity(Embedding(np.array([1.0, 0])), Embedding(np.array([0.0, 1]))) == 0
    for one, other in ((None, [1]), ([1], Embedding(None)), ([0, 0], [1, 1])):
        assert np.isnan(similarity(one, other))


def test_an_embedding_is_a_callable_or_named():
    assert load_embedding(None) is None and load_embedding(len) is len
    with pytest.raises(InputError):
        load_embedding("no-such-model")
