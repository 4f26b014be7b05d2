"""Adapters against what the libraries returned (recorded.json), with stand-ins of the same module and attributes."""

import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tests.models.adapters.recorded import recorded

import countenance as ct
from countenance.answers import Age, Boxes, Embedding, Keypoints, Labels, Masks
from countenance.answers.libraries import library_of
from countenance.data.adapters.coco import write_coco
from countenance.errors import ModelError
from countenance.models.adapters import Request, adapt
from countenance.testing import small_dataset

DATA = small_dataset(6)
PICTURE = DATA[0].load()


def stand_in(module: str, name: str, **attributes: Any) -> Any:
    """An object whose class says that it comes from a library."""
    return type(name, (), {"__module__": module, **attributes})()


class Tensor(np.ndarray):
    """An array that knows the few words of a tensor that adapters use."""

    @classmethod
    def of(cls, values: Any) -> "Tensor":
        return np.asarray(values, dtype=np.float32).view(cls)

    def cpu(self) -> "Tensor":
        return self

    def numpy(self) -> Any:
        return np.asarray(self)


def request(task: str, data: Any = DATA) -> Request:
    return Request.of(ct.load_task(task), data)


def answer(model: Any, task: str) -> Any:
    """What the adapted model says about one picture."""
    adapted = adapt(model, request(task))
    assert adapted is not None
    (one,) = adapted.call([PICTURE])
    return one


def results(fields: dict[str, Any], **others: Any) -> Any:
    boxes = SimpleNamespace(**{name: Tensor.of(fields[name]) for name in ("xyxy", "conf", "cls")})
    names = {int(number): name for number, name in fields["names"].items()}
    return stand_in("ultralytics.engine.results", "Results", boxes=boxes, names=names, **others)


def yolo(result: Any, kind: str = "detect", **others: Any) -> Any:
    def predict(self: Any, pictures: list[Any], **options: Any) -> list[Any]:
        assert options["verbose"] is False and pictures[0].shape[2] == 3
        self.seen = [picture[0, 0].tolist() for picture in pictures]
        return [result for _ in pictures]

    given = {"task": kind, "names": result.names, "model": "no file", "overrides": {}, "ckpt_path": "runs/mine.pt"}
    return stand_in("ultralytics.models.yolo.model", "YOLO", **(given | {"predict": predict} | others))


@pytest.mark.parametrize("kind", ["yolov5n", "yolov8n", "yolo11n", "yolo26n"])
def test_people_among_the_boxes_of_yolo(kind: str) -> None:
    fields = recorded("ultralytics", kind)
    model = yolo(results(fields))
    found, people = answer(model, "person_localization"), [number == 0 for number in fields["cls"]]
    assert np.allclose(found.xyxy, np.array(fields["xyxy"], np.float32)[people])
    assert np.allclose(found.scores, np.array(fields["conf"], np.float32)[people]) and set(found.labels) == {"person"}
    assert model.seen == [PICTURE[0, 0, ::-1].tolist()]  # ultralytics reads the colours of an array as BGR
    everything = ct.Boxes.from_ultralytics(results(fields))
    assert len(everything) == len(people) and set(everything.labels or ()) == set(fields["names"].values())


def test_the_whole_program_of_a_user_of_yolo(tmp_path) -> None:
    fields = {"xyxy": [[5, 5, 40, 40]], "conf": [0.9], "cls": [0], "names": {0: "face"}}
    run = ct.evaluate(yolo(results(fields)), "face_localization", DATA, out=tmp_path / "run")
    assert run.complete and len(run.scores()) == 12 and run.manifest.model.name == "mine"
    assert run.manifest.model.finds == ("face",)
    with pytest.raises(ct.InputError, match="mine finds faces, and person_localization evaluates people"):
        ct.evaluate(yolo(results(fields)), "person_localization", DATA)
    write_coco(small_dataset(4), tmp_path / "coco")
    file = tmp_path / "coco" / "annotations.json"
    file.write_text(file.read_text().replace('"face_box"', '"person_box"').replace('"person_box": null, ', ""))
    run = ct.evaluate(yolo(results(fields | {"names": {0: "person"}})), "person_localization", f"coco:{tmp_path}/coco")
    assert run.complete and run.manifest.dataset.images == 4


def test_masked_faces_are_faces() -> None:
    fields = {"xyxy": [[0, 0, 9, 9]] * 3, "conf": [0.9] * 3, "cls": [0, 1, 2]}
    model = yolo(results(fields | {"names": {0: "with_mask", 1: "without_mask", 2: "helmet"}}))
    found = ct.load_task("mask_detection").check(answer(model, "mask_detection"), DATA[0])
    assert found.labels == ("mask", "no_mask") and len(answer(model, "face_localization")) == 2


def test_poses_masks_and_classes_of_yolo() -> None:
    fields = {"xyxy": [[0, 0, 9, 9], [1, 1, 9, 9]], "conf": [0.9, 0.8], "cls": [0, 2], "names": {0: "person", 2: "dog"}}
    points = SimpleNamespace(data=Tensor.of(np.arange(102).reshape(2, 17, 3)))
    found = answer(yolo(results(fields, keypoints=points), "pose"), "keypoint_estimation")
    assert isinstance(found, Keypoints) and np.array_equal(found.points, np.arange(51.0).reshape(1, 17, 3))
    masks = SimpleNamespace(data=Tensor.of(np.ones((2, 64, 64))))
    found = answer(yolo(results(fields, masks=masks), "segment"), "person_parsing")
    assert isinstance(found, Masks) and found.masks.shape == (1, 64, 64) and np.allclose(found.scores, [0.9])
    nobody = answer(
        yolo(results(fields | {"xyxy": [], "conf": [], "cls": []}, masks=None), "segment"), "person_parsing"
    )
    assert len(nobody.masks) == 0
    words = {0: "Man", 1: "Woman"}
    classified = stand_in(
        "ultralytics.engine.results",
        "Results",
        boxes=None,
        names=words,
        probs=SimpleNamespace(data=Tensor.of([0.25, 0.75])),
    )
    found = answer(yolo(classified, "classify"), "attributes")
    assert found.values == {"gender": "female"} and found.probabilities == {"gender": {"male": 0.25, "female": 0.75}}


@pytest.mark.parametrize(
    ("kind", "names", "task", "problem"),
    [
        ("detect", {0: "cat", 1: "dog"}, "person_localization", "gives boxes of cat, dog, and person_localization"),
        (
            "detect",
            {i: str(i) for i in range(80)},
            "face_localization",
            "11 and 68 more classes, and face_localization",
        ),
        ("detect", {0: "person"}, "attributes", r"mine \(detect\) gives boxes, and attributes evaluates attributes"),
        ("classify", {0: "cat", 1: "dog"}, "attributes", "gives one of the classes cat, dog.*skin_tone: monk_2"),
    ],
)
def test_what_yolo_cannot_answer_is_refused_with_the_remedy(kind, names, task, problem) -> None:
    result = results({"xyxy": [], "conf": [], "cls": [], "names": names})
    with pytest.raises(ModelError, match=problem):
        adapt(yolo(result, kind), request(task))


def test_one_class_without_a_telling_name_counts() -> None:
    fields = {"xyxy": [[0, 0, 9, 9]], "conf": [0.9], "cls": [0], "names": {0: "item"}}
    assert len(answer(yolo(results(fields)), "face_localization")) == 1


def test_detections_of_supervision_are_answers() -> None:
    fields = recorded("supervision", "detections")
    arrays = {name: np.array(fields[name]) for name in ("xyxy", "class_id", "confidence")}
    data = {"class_name": np.array(fields["data"]["class_name"])}
    detections = stand_in("supervision.detection.core", "Detections", **arrays, data=data)
    sample = DATA[0]
    found = ct.load_task("person_localization").check(detections, sample)
    assert len(found) == fields["class_id"].count(0) > 0
    assert len(ct.Boxes.from_supervision(detections)) == len(fields["class_id"])
    detections.data.clear()
    with pytest.raises(ValueError, match="which has no name; say it with names="):
        ct.load_task("person_localization").check(detections, sample)
    assert len(ct.Boxes.from_supervision(detections, names={0: "person"}, keep=["person", *map(str, range(99))])) == 12
    with pytest.raises(ModelError, match="give the function that makes them"):
        adapt(detections, request("person_localization"))


def test_detectors_of_torchvision_give_coco_classes(monkeypatch) -> None:
    torch = pytest.importorskip("torch")
    fields = recorded("torchvision", "ssdlite320_mobilenet_v3_large")
    fields["labels"][::3] = [1] * len(fields["labels"][::3])  # the network with random numbers saw no person
    detection = ModuleType("torchvision.models.detection")
    names = ["__background__", "person", *(f"thing {i}" for i in range(89))]
    detection.FasterRCNN_ResNet50_FPN_Weights = SimpleNamespace(DEFAULT=SimpleNamespace(meta={"categories": names}))
    for name in ("torchvision", "torchvision.models"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    monkeypatch.setitem(sys.modules, "torchvision.models.detection", detection)

    class SSD(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.scale = torch.nn.Parameter(torch.ones(1))
            self.head = torch.nn.Module()
            self.head.classification_head = SimpleNamespace(num_columns=91)

        def forward(self, pictures: list[Any]) -> list[dict[str, Any]]:
            assert pictures[0].shape == (3, 64, 64) and pictures[0].max() <= 1 and not self.training
            return [{key: torch.tensor(value) for key, value in fields.items()} for _ in pictures]

    SSD.__module__ = "torchvision.models.detection.ssd"
    model = SSD()
    found = answer(model, "person_localization")
    people = [number == 1 for number in fields["labels"]]
    assert np.allclose(found.xyxy, np.array(fields["boxes"], np.float32).reshape(-1, 4)[people])
    model.head.classification_head.num_columns = 3
    with pytest.raises(ModelError, match="classes without names"):
        adapt(model, request("person_localization"))
    model.names = ["background", "pedestrian", *(f"thing {i}" for i in range(89))]
    assert answer(model, "person_localization").labels == ("pedestrian",) * sum(people)


def pipeline(task: str, output: Any, labels: tuple[str, ...] = ("car", "person"), **others: Any) -> Any:
    network = SimpleNamespace(
        config=SimpleNamespace(id2label=dict(enumerate(labels))), name_or_path="org/net", state_dict=dict
    )
    call = output if callable(output) else lambda self, picture, **options: output
    return stand_in("transformers.pipelines.base", "Pipeline", task=task, model=network, __call__=call, **others)


def test_pipelines_of_transformers() -> None:
    pytest.importorskip("torch")
    rows = recorded("transformers", "object_detection")
    found = answer(pipeline("object-detection", rows), "person_localization")
    assert len(found) == sum(row["label"] == "person" for row in rows) > 0
    assert len(ct.load_task("person_localization").check(rows, DATA[0])) == len(found)
    rows = recorded("transformers", "zero_shot_object_detection")
    asked: list[Any] = []

    def detect(self: Any, picture: Any, candidate_labels: list[str]) -> Any:
        asked.append(candidate_labels)
        return rows

    assert len(answer(pipeline("zero-shot-object-detection", detect), "person_localization")) == len(rows)
    assert asked == [["person"]]
    rows = recorded("transformers", "image_classification")
    found = answer(pipeline("image-classification", rows, ("Man", "Woman")), "attributes")
    assert found.probabilities == {"gender": {"male": rows[0]["score"], "female": rows[1]["score"]}}
    for task in ("image-to-text", "image-text-to-text"):
        text = recorded("transformers", task.replace("-", "_"))
        found = answer(pipeline(task, text), "attributes")
        assert found.values == ({"gender": "female"} if task == "image-to-text" else {})  # the other names both


def test_zero_shot_classes_are_asked_attribute_by_attribute() -> None:
    pytest.importorskip("torch")
    asked: list[list[str]] = []

    def classify(self: Any, picture: Any, candidate_labels: list[str], hypothesis_template: str) -> Any:
        asked.append(candidate_labels)
        assert hypothesis_template == "{}"
        return [{"label": label, "score": 1 / len(candidate_labels)} for label in reversed(candidate_labels)]

    found = answer(pipeline("zero-shot-image-classification", classify), "attributes")
    assert asked[1] == ["a photo of a person whose gender is female", "a photo of a person whose gender is male"]
    assert "a photo of a person whose skin tone is monk 2" in asked[0] and found.values["gender"] == "female"


def test_a_bare_network_of_transformers_is_refused() -> None:
    network = stand_in("transformers.models.vit.modeling_vit", "ViTModel")
    with pytest.raises(ModelError, match=r"give a pipeline: transformers\.pipeline\(task, model=…\)"):
        adapt(network, request("attributes"))
    with pytest.raises(ModelError, match="org/net gives what a pipeline for fill-mask gives"):
        adapt(pipeline("fill-mask", []), request("attributes"))


class Face(dict):
    """A face of insightface: a dict with attributes."""

    def __getattr__(self, name: str) -> Any:
        return self.get(name)

    @property
    def normed_embedding(self) -> Any:
        return self["embedding"] / np.linalg.norm(self["embedding"])


def test_insightface() -> None:
    fields = recorded("insightface", "face")
    face = Face({name: np.array(value) if isinstance(value, list) else value for name, value in fields.items()})
    small = Face(face | {"bbox": np.array([0.0, 0, 1, 1]), "age": 5, "gender": 0})
    loaded = dict.fromkeys(("detection", "recognition", "genderage"), SimpleNamespace())
    given = {"models": loaded, "model_dir": "/models/buffalo_l", "get": lambda self, picture: [small, face]}
    app = stand_in("insightface.app.face_analysis", "FaceAnalysis", **given)
    boxes = answer(app, "face_localization")
    assert boxes.xyxy[1].tolist() == fields["bbox"] and np.allclose(boxes.landmarks[1], fields["kps"])
    vector = answer(app, "face_verification").vector
    assert np.allclose(vector, np.array(fields["embedding"]) / np.linalg.norm(fields["embedding"]))
    assert answer(app, "age_estimation") == Age(31.0)  # of the larger face
    assert answer(app, "attributes") == Labels({"gender": "male"})
    nobody = stand_in("insightface.app.face_analysis", "FaceAnalysis", **(given | {"get": lambda self, picture: []}))
    assert len(answer(nobody, "face_localization")) == 0 and answer(nobody, "face_verification") == Embedding(None)
    assert answer(nobody, "attributes").values == {} and answer(nobody, "age_estimation").years is None
    del loaded["genderage"]
    with pytest.raises(ModelError, match="what detection, recognition give"):
        adapt(app, request("age_estimation"))


def test_deepface_is_given_as_a_module() -> None:
    module = ModuleType("deepface.DeepFace")
    faces, nobody = recorded("deepface", "extract_faces"), recorded("deepface", "nobody")
    module.extract_faces = lambda **options: [*faces, nobody]
    module.represent = lambda **options: recorded("deepface", "represent")
    module.analyze = lambda **options: recorded("deepface", "analyze")
    area = faces[0]["facial_area"]
    boxes = answer(module, "face_localization")
    assert boxes.xyxy.tolist() == [[area["x"], area["y"], area["x"] + area["w"], area["y"] + area["h"]]]
    assert answer(module, "face_verification").vector.tolist() == [0.0, 3.0, 4.0]
    assert answer(module, "attributes").probabilities == {"gender": {"female": 0.9, "male": 0.1}}
    module.represent = lambda **options: [
        {"embedding": [1.0], "facial_area": nobody["facial_area"], "face_confidence": 0}
    ]
    assert answer(module, "face_verification") == Embedding(None)
    with pytest.raises(ModelError, match=r"give `deepface\.DeepFace` itself"):
        adapt(ModuleType("deepface"), request("face_localization"))


def test_mlflow_models_get_what_their_signature_declares() -> None:
    seen: list[Any] = []

    def model(schema: Any, output: Any) -> Any:
        def predict(self: Any, given: Any) -> Any:
            seen.append(given)
            return output

        metadata = SimpleNamespace(get_input_schema=lambda: schema, flavors={}, model_uuid="1")
        return stand_in("mlflow.pyfunc", "PyFuncModel", predict=predict, metadata=metadata)

    boxes = {"boxes": [[0, 0, 4, 4]], "scores": [0.5]}
    assert answer(model(None, [boxes]), "face_localization") == boxes and seen[-1][0].shape == (64, 64, 3)
    tensor = SimpleNamespace(shape=(-1, 3, 64, 64), type=np.dtype(np.float32), name="x")
    schema = SimpleNamespace(is_tensor_spec=lambda: True, inputs=[tensor])
    assert answer(model(schema, {"boxes": np.zeros((1, 0, 4))}), "face_localization")["boxes"].shape == (0, 4)
    assert seen[-1]["x"].shape == (1, 3, 64, 64) and seen[-1]["x"].dtype == np.float32
    adapted = adapt(model(None, [boxes, boxes]), request("face_localization"))
    assert adapted is not None
    with pytest.raises(ValueError, match="list for one picture, expected one answer"):
        adapted.call([PICTURE])


def test_only_known_libraries_are_recognised_and_nothing_is_imported() -> None:
    before = set(sys.modules)

    class Mine(type(yolo(results({"xyxy": [], "conf": [], "cls": [], "names": {}})))):  # type: ignore[misc]
        pass

    assert library_of(Mine()) == "ultralytics" and library_of(lambda images: []) is None and library_of(np) is None
    assert adapt(DATA, request("attributes")) is None
    assert not {name.partition(".")[0] for name in set(sys.modules) - before} & {"ultralytics", "transformers", "timm"}


def test_the_hash_of_a_network_follows_its_numbers() -> None:
    torch = pytest.importorskip("torch")
    from countenance.models.adapters.networks import torch_content

    network = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.BatchNorm1d(2)).to(torch.bfloat16)
    before = torch_content(network)
    assert torch_content(network) == before
    with torch.no_grad():
        network[0].weight[0, 0] += 1
    assert torch_content(network) != before


def test_boxes_of_one_shape_are_predicted_together() -> None:
    calls: list[int] = []
    fields = {"xyxy": [], "conf": [], "cls": [], "names": {0: "face"}}

    def predict(self: Any, pictures: list[Any], **options: Any) -> list[Any]:
        calls.append(len(pictures))
        return [results(fields) for _ in pictures]

    adapted = adapt(yolo(results(fields), predict=predict), request("face_localization"))
    assert adapted is not None
    pictures = [np.zeros((4, 4, 3), np.uint8), np.zeros((2, 4, 3), np.uint8), np.zeros((4, 4, 3), np.uint8)]
    assert all(isinstance(one, Boxes) for one in adapted.call(pictures)) and calls == [2, 1]
