"""A model that says what it finds is not evaluated for something else unless the user insists."""

import json

import pytest

from countenance.answers.targets import FINDS
from countenance.cli.app import run as run_command
from countenance.errors import InputError
from countenance.models import ModelCard, ModelSpec
from countenance.models.zoo import ZOO
from countenance.run import evaluate
from countenance.run.evaluator import refuse_mismatch
from countenance.tasks import load_task, task_names
from countenance.testing import DiscDetector


def test_every_task_and_every_zoo_model_says_what_it_is_about():
    for name in task_names():
        task = load_task(name)
        assert (task.needs or task.fit_input) and set(task.needs) <= set(FINDS)
    for entry in ZOO.values():
        assert entry.finds and set(entry.finds) <= set(FINDS)
        refuse_mismatch(ModelCard(name=entry.name, finds=entry.finds), load_task(entry.task))


@pytest.mark.parametrize(
    ("finds", "task", "fits"),
    [
        (("face",), "face_localization", True),
        (("face",), "mask_detection", True),
        (("face", "mask"), "face_localization", True),
        (("face",), "person_localization", False),
        (("person",), "face_localization", False),
        (("embedding",), "face_localization", False),
        (("labels",), "face_verification", False),
        ((), "person_localization", True),
    ],
)
def test_who_fits_whom(finds, task, fits):
    card = ModelCard(name="mine", finds=finds)
    if fits:
        refuse_mismatch(card, load_task(task))
    else:
        with pytest.raises(InputError, match=f"mine finds .*, and {task} evaluates .*allow_mismatch=True"):
            refuse_mismatch(card, load_task(task))


def test_a_face_detector_is_refused_for_people_and_runs_when_told(tmp_path, capsys):
    command = ["run", "person_localization", "--model", "haar", "--data", "people:bodies", "--limit", 6, "--quiet"]
    assert run_command([str(part) for part in [*command, "--out", tmp_path / "a"]]) == 2
    shown = capsys.readouterr().err
    assert "haar finds faces, and person_localization evaluates people: use face_localization" in shown
    assert not (tmp_path / "a").exists()
    assert run_command([str(part) for part in [*command, "--out", tmp_path / "b", "--allow-mismatch"]]) == 0


class PersonDetector(DiscDetector):
    finds = "person"


def test_a_model_of_a_program_may_say_what_it_finds(tmp_path, discs):
    with pytest.raises(InputError, match="finds people, and face_localization evaluates faces"):
        evaluate(PersonDetector(), "face_localization", discs, out=tmp_path / "run")

    class Misspelt(DiscDetector):
        finds = "faces"

    with pytest.raises(InputError, match=r"finds 'faces' \(did you mean face"):
        evaluate(Misspelt(), "face_localization", discs, out=tmp_path / "run")


def test_an_onnx_file_says_what_its_boxes_are_of(tmp_path):
    path = tmp_path / "net.onnx"
    path.write_bytes(b"never opened for its card")

    def card(**output):
        spec = {"input": {"size": [16, 8]}, "output": output}
        path.with_name("net.onnx.json").write_text(json.dumps(spec))
        return ModelSpec(str(path)).card()

    assert card(kind="boxes", finds="person").finds == ("person",)
    assert card(kind="boxes").finds == ()
    assert card(kind="embedding").finds == ("embedding",) and card(kind="labels").finds == ("labels",)
    with pytest.raises(InputError, match="finds 'persn'"):
        card(kind="boxes", finds="persn")


def test_saved_answers_remember_what_their_model_found(tmp_path, discs):
    run = evaluate("haar", "face_localization", discs, out=tmp_path / "run", limit=4)
    assert ModelSpec(f"answers:{run.path}").card().finds == ("face",)
    assert run.manifest.model.finds == ("face",)
    with pytest.raises(InputError, match="finds faces, and person_localization"):
        evaluate(f"answers:{run.path}", "person_localization", "people:bodies", out=tmp_path / "again")
