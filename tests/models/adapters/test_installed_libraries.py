"""Adapters against the installed libraries; a library that is not installed is skipped by name.

`docs/libraries.md` says with which versions these tests were run. Networks have random numbers: nothing is downloaded.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.models.adapters.recorded import record

import countenance as ct
from countenance.data import Dataset
from countenance.testing import face_picture, small_dataset

pytestmark = pytest.mark.filterwarnings("ignore")


def people(n: int = 12, size: int = 64) -> Dataset:
    """Pictures whose disc is a person, with keypoints and a mask."""
    discs = small_dataset(n, size)
    samples = []
    for sample in discs:
        (one,) = sample.subjects
        points = np.column_stack([np.tile((one.face_box[:2] + one.face_box[2:]) / 2, (17, 1)), np.full(17, 2.0)])
        mask = ct.Rle.encode(sample.load().min(axis=2) > 150)
        subject = replace(one, person_box=one.face_box, keypoints=points, mask=mask)
        samples.append(replace(sample, subjects=(subject,)))
    return Dataset(discs.card, samples)


def evaluated(model: Any, task: str, data: Dataset) -> dict[str, Any]:
    run = ct.evaluate(model, task, data, batch=4)
    assert run.complete and run.manifest.failed == 0, run.failures().to_pylist()[:1]
    return run.answers()


def same_boxes(answer: ct.Boxes, xyxy: Any, scores: Any) -> None:
    assert np.allclose(answer.xyxy, np.asarray(xyxy).reshape(len(answer), 4), atol=1e-3)
    assert np.allclose(answer.scores, np.asarray(scores).ravel(), atol=1e-5)


# ultralytics and supervision


def yolo(kind: str, names: Sequence[str]) -> Any:
    """A YOLO with random numbers that are large enough for some boxes."""
    ultralytics, torch = pytest.importorskip("ultralytics"), pytest.importorskip("torch")
    torch.manual_seed(0)
    model = ultralytics.YOLO(f"{kind}.yaml")
    model.model.names = dict(enumerate(names))
    model.overrides["imgsz"] = 64
    head = model.model.model[-1]
    for branches in (getattr(head, name, None) for name in ("cv3", "one2one_cv3")):
        for branch in branches or ():
            with torch.no_grad():
                branch[-1].weight *= 30
                branch[-1].bias[:] = -1.0
                branch[-1].bias[0] = -0.99999
    return model


def result_fields(result: Any) -> dict[str, Any]:
    """The first boxes of a result of ultralytics, with their fields."""
    boxes = result.boxes[:12]
    names = {int(number): result.names[int(number)] for number in boxes.cls.tolist()}
    return {"xyxy": boxes.xyxy, "conf": boxes.conf, "cls": boxes.cls, "names": names, "orig_shape": result.orig_shape}


COCO_80 = ["person", "bicycle", "car", *(f"thing {i}" for i in range(3, 80))]


@pytest.mark.parametrize("kind", ["yolov8n", "yolo11n", "yolo26n", "yolov5n"])
def test_yolo_finds_people(kind: str) -> None:
    model = yolo(kind, COCO_80)
    data = people(6)
    answers = evaluated(model, "person_localization", data)
    boxes = 0
    for sample in data:
        (result,) = model.predict([sample.load()[:, :, ::-1]], verbose=False)
        chosen = result.boxes.cls.numpy() == 0
        same_boxes(answers[sample.id], result.boxes.xyxy.numpy()[chosen], result.boxes.conf.numpy()[chosen])
        boxes += chosen.sum()
    assert boxes
    record("ultralytics", pytest.importorskip("ultralytics").__version__, **{kind: result_fields(result)})


def test_other_yolos_answer_what_they_are_for() -> None:
    data = people(6)
    model = yolo("yolov8n-pose", ["person"])
    points = evaluated(model, "keypoint_estimation", data)
    (result,) = model.predict([data[0].load()[:, :, ::-1]], verbose=False)
    assert np.allclose(points[data[0].id].points, result.keypoints.data.numpy(), atol=1e-3) and len(result.boxes)
    model = yolo("yolov8n-seg", COCO_80)
    masks = evaluated(model, "person_parsing", data)
    (result,) = model.predict([data[0].load()[:, :, ::-1]], verbose=False, retina_masks=True)
    chosen = result.boxes.cls.numpy() == 0
    assert len(masks[data[0].id].masks) == chosen.sum()
    model = yolo("yolov8n-cls", ["male", "female", *(f"thing {i}" for i in range(998))])
    labels = evaluated(model, "attributes", data)
    assert labels[data[0].id].probabilities["gender"]["male"] == pytest.approx(
        float(model.predict([data[0].load()[:, :, ::-1]], verbose=False)[0].probs.data[0]), abs=1e-5
    )


def test_supervision_is_an_answer() -> None:
    supervision = pytest.importorskip("supervision")
    found = supervision.Detections(
        xyxy=np.array([[1, 2, 30, 40.0], [0, 0, 5, 5]]),
        confidence=np.array([0.9, 0.8]),
        class_id=np.array([0, 2]),
        data={"class_name": np.array(["person", "car"])},
    )
    empty = supervision.Detections.empty()
    data = people(6)
    answers = evaluated(lambda images: [found, empty] * (len(images) // 2), "person_localization", data)
    same_boxes(answers[data[0].id], [[1, 2, 30, 40]], [0.9])
    assert len(answers[data[1].id]) == 0
    assert ct.Boxes.from_supervision(found).labels == ("person", "car")
    model = yolo("yolov8n", COCO_80)
    (result,) = model.predict([face_picture(1)[0][:, :, ::-1]], verbose=False)
    theirs, ours = supervision.Detections.from_ultralytics(result), ct.Boxes.from_ultralytics(result)
    same_boxes(ours, theirs.xyxy, theirs.confidence)
    assert list(ours.labels or ()) == theirs.data["class_name"].tolist()
    fields = {
        "xyxy": theirs.xyxy,
        "confidence": theirs.confidence,
        "class_id": theirs.class_id,
        "data": dict(theirs.data),
    }
    first = {
        name: value[:12] if name != "data" else {"class_name": value["class_name"][:12]}
        for name, value in fields.items()
    }
    record("supervision", supervision.__version__, detections=first)


# torchvision, timm, open_clip


@pytest.mark.parametrize("name", ["fasterrcnn_mobilenet_v3_large_320_fpn", "ssdlite320_mobilenet_v3_large"])
def test_detectors_of_torchvision(name: str) -> None:
    torchvision, torch = pytest.importorskip("torchvision"), pytest.importorskip("torch")
    torch.manual_seed(1)
    options = {"box_score_thresh": 0.0} if "rcnn" in name else {"score_thresh": 0.0}
    model = getattr(torchvision.models.detection, name)(weights=None, weights_backbone=None, **options).eval()
    data = people(6)
    answers = evaluated(model, "person_localization", data)
    seen = 0
    for sample in data:
        with torch.inference_mode():
            (output,) = model([torch.from_numpy(sample.load().copy()).permute(2, 0, 1) / 255])
        chosen = output["labels"] == 1
        same_boxes(answers[sample.id], output["boxes"][chosen], output["scores"][chosen])
        seen += len(output["labels"])
    assert seen
    record("torchvision", torchvision.__version__, **{name: {key: value[:40] for key, value in output.items()}})


def test_keypoints_and_masks_of_torchvision() -> None:
    torchvision, torch = pytest.importorskip("torchvision"), pytest.importorskip("torch")
    torch.manual_seed(1)
    detection, data = torchvision.models.detection, people(2)
    options = {"weights": None, "weights_backbone": None, "min_size": 64, "max_size": 64}
    model = detection.keypointrcnn_resnet50_fpn(**options, box_score_thresh=0.0)
    points = evaluated(model, "keypoint_estimation", data)[data[0].id].points
    model = detection.maskrcnn_resnet50_fpn(**options, box_score_thresh=0.0)
    masks = evaluated(model, "person_parsing", data)[data[0].id].masks
    assert points.shape[1:] == (17, 3) and len(points) and (masks.shape[1:] == (64, 64) or not len(masks))


def test_classifiers_of_torchvision_and_timm() -> None:
    torchvision, torch = pytest.importorskip("torchvision"), pytest.importorskip("torch")
    timm, data = pytest.importorskip("timm"), people(6)
    torch.manual_seed(0)
    weights = torchvision.models.ResNet18_Weights.DEFAULT
    model = torchvision.models.resnet18(num_classes=2)
    with pytest.raises(ct.InputError, match="classes without names"):
        ct.evaluate(model, "attributes", data)
    model.names, model.transforms = ["Female", "Male"], weights.transforms()
    answer = evaluated(model, "attributes", data)[data[0].id]
    with torch.inference_mode():
        batch = weights.transforms()(torch.from_numpy(data[0].load().copy()).permute(2, 0, 1))[None]
        share = model.eval()(batch)[0].softmax(0)[0].item()
    assert answer.probabilities["gender"]["female"] == pytest.approx(share, abs=0.02)  # a tensor is resized otherwise
    model = timm.create_model("resnet10t", num_classes=2)
    model.names = ["woman", "man"]
    assert set(evaluated(model, "attributes", data)[data[0].id].probabilities["gender"]) == {"female", "male"}
    vector = evaluated(model, "face_verification", data)[data[0].id].vector
    transform = timm.data.create_transform(**timm.data.resolve_model_data_config(model), is_training=False)
    from PIL import Image

    with torch.inference_mode():
        features = model.forward_features(transform(Image.fromarray(data[0].load()))[None])
        assert np.allclose(model.forward_head(features, pre_logits=True)[0].numpy(), vector, atol=1e-5)


def test_open_clip_is_asked_in_sentences() -> None:
    open_clip, torch = pytest.importorskip("open_clip"), pytest.importorskip("torch")
    torch.manual_seed(0)
    model, _, preprocess = open_clip.create_model_and_transforms("ViT-B-32", pretrained=None)
    data = people(6)
    answer = evaluated(model, "attributes", data)[data[0].id]
    from PIL import Image

    tokens = open_clip.get_tokenizer("ViT-B-32")(
        ["a photo of a person whose gender is female", "a photo of a person whose gender is male"]
    )
    with torch.inference_mode():
        image = preprocess(Image.fromarray(data[0].load()))[None]
        logits = (
            model.logit_scale.exp()
            * model.encode_image(image, normalize=True)
            @ model.encode_text(tokens, normalize=True).T
        )
    shares = logits.softmax(-1)[0].tolist()
    assert answer.probabilities["gender"] == pytest.approx(dict(zip(("female", "male"), shares, strict=True)), abs=1e-4)
    vector = evaluated(model, "face_verification", data)[data[0].id].vector
    with torch.inference_mode():
        assert np.allclose(model.encode_image(image, normalize=True)[0].numpy(), vector, atol=1e-5)


# transformers


def pipeline(task: str, **parts: Any) -> Any:
    return pytest.importorskip("transformers").pipeline(task, device="cpu", **parts)


def yolos(names: Sequence[str], image_size: int = 64) -> tuple[Any, Any]:
    transformers, torch = pytest.importorskip("transformers"), pytest.importorskip("torch")
    pytest.importorskip("torchvision")
    torch.manual_seed(0)
    configuration = transformers.YolosConfig(
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=37,
        patch_size=16,
        image_size=[image_size] * 2,
        num_detection_tokens=10,
        id2label=dict(enumerate(names)),
        label2id={name: i for i, name in enumerate(names)},
    )
    processor = transformers.YolosImageProcessor(size={"shortest_edge": image_size, "longest_edge": image_size})
    return transformers.YolosForObjectDetection(configuration), processor


def test_detection_pipelines_of_transformers() -> None:
    from PIL import Image

    network, processor = yolos(["car", "person"])
    pipe = pipeline("object-detection", model=network, image_processor=processor, threshold=0.0)
    data = people(6)
    answers = evaluated(pipe, "person_localization", data)
    for sample in data:
        rows = [row for row in pipe(Image.fromarray(sample.load())) if row["label"] == "person"]
        same_boxes(
            answers[sample.id],
            [[row["box"][k] for k in ("xmin", "ymin", "xmax", "ymax")] for row in rows],
            [row["score"] for row in rows],
        )
    everything = pipe(Image.fromarray(data[0].load()))
    record("transformers", pytest.importorskip("transformers").__version__, object_detection=everything)


def test_classification_pipelines_of_transformers() -> None:
    transformers = pytest.importorskip("transformers")
    from PIL import Image

    small = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 37}
    configuration = transformers.ViTConfig(
        **small, image_size=32, patch_size=16, id2label={0: "Man", 1: "Woman"}, label2id={"Man": 0, "Woman": 1}
    )
    pipe = pipeline(
        "image-classification",
        model=transformers.ViTForImageClassification(configuration),
        image_processor=transformers.ViTImageProcessor(size={"height": 32, "width": 32}),
    )
    data = people(6)
    answer = evaluated(pipe, "attributes", data)[data[0].id]
    listed = pipe(Image.fromarray(data[0].load()))
    record("transformers", transformers.__version__, image_classification=listed)
    rows = {row["label"]: row["score"] for row in listed}
    assert answer.probabilities["gender"] == pytest.approx({"male": rows["Man"], "female": rows["Woman"]}, abs=1e-5)


def tokenizer(path: Any) -> Any:
    """A tokenizer of CLIP's kind with a vocabulary of letters."""
    import json

    transformers = pytest.importorskip("transformers")
    letters = [*"abcdefghijklmnopqrstuvwxyz", *(f"{c}</w>" for c in "abcdefghijklmnopqrstuvwxyz")]
    words = {word: i for i, word in enumerate([*letters, "<|startoftext|>", "<|endoftext|>"])}
    (path / "vocab.json").write_text(json.dumps(words))
    (path / "merges.txt").write_text("#version: 0.2\n")
    return transformers.CLIPTokenizer(str(path / "vocab.json"), str(path / "merges.txt"))


SMALL = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 37}


def test_zero_shot_pipelines_of_transformers(tmp_path) -> None:
    transformers, torch = pytest.importorskip("transformers"), pytest.importorskip("torch")
    pytest.importorskip("torchvision")
    from PIL import Image

    torch.manual_seed(0)
    words = tokenizer(tmp_path)
    text = {**SMALL, "vocab_size": 54, "max_position_embeddings": 77, "eos_token_id": 53, "bos_token_id": 52}
    vision = {**SMALL, "image_size": 32, "patch_size": 16}
    clip = transformers.CLIPModel(transformers.CLIPConfig(text_config=text, vision_config=vision, projection_dim=16))
    processor = transformers.CLIPImageProcessor(size={"shortest_edge": 32}, crop_size={"height": 32, "width": 32})
    pipe = pipeline("zero-shot-image-classification", model=clip, tokenizer=words, image_processor=processor)
    data = people(6)
    answer = evaluated(pipe, "attributes", data)[data[0].id]
    rows = pipe(
        Image.fromarray(data[0].load()),
        hypothesis_template="a photo of a person whose gender is {}",
        candidate_labels=["female", "male"],
    )
    assert answer.probabilities["gender"] == pytest.approx({row["label"]: row["score"] for row in rows}, abs=1e-5)
    record("transformers", transformers.__version__, zero_shot_image_classification=rows)
    owl = transformers.OwlViTForObjectDetection(
        transformers.OwlViTConfig(
            text_config=text | {"max_position_embeddings": 16}, vision_config=vision, projection_dim=32
        )
    )
    processor = transformers.OwlViTImageProcessor(size={"height": 32, "width": 32})
    pipe = pipeline("zero-shot-object-detection", model=owl, tokenizer=words, image_processor=processor, threshold=0.0)
    answers = evaluated(pipe, "person_localization", data)
    rows = pipe(Image.fromarray(data[0].load()), candidate_labels=["person"])
    assert len(answers[data[0].id]) == len(rows) and rows
    record("transformers", transformers.__version__, zero_shot_object_detection=rows)


def test_texts_on_pictures_are_read_for_words(tmp_path) -> None:
    transformers, torch = pytest.importorskip("transformers"), pytest.importorskip("torch")
    pytest.importorskip("torchvision")
    from PIL import Image

    torch.manual_seed(0)
    (tmp_path / "vocab.txt").write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n[DEC]\n[ENC]\nman\nwoman\na\n")
    words = transformers.BertTokenizer(str(tmp_path / "vocab.txt"))
    text = {
        **SMALL,
        "vocab_size": 10,
        "max_position_embeddings": 64,
        "encoder_hidden_size": 32,
        "bos_token_id": 5,
        "eos_token_id": 3,
        "sep_token_id": 3,
        "pad_token_id": 0,
        "projection_dim": 16,
    }
    vision = {**SMALL, "image_size": 32, "patch_size": 16}
    network = transformers.BlipForConditionalGeneration(
        transformers.BlipConfig(text_config=text, vision_config=vision, projection_dim=16, image_text_hidden_size=16)
    )
    pictures = transformers.BlipImageProcessor(size={"height": 32, "width": 32})
    data = people(6)
    if transformers.__version__ < "5":
        pipe = pipeline("image-to-text", model=network, tokenizer=words, image_processor=pictures, max_new_tokens=4)
    else:
        both = transformers.BlipProcessor(pictures, words)
        pipe = pipeline("image-text-to-text", model=network, processor=both, max_new_tokens=4)
    asked = {} if pipe.task == "image-to-text" else {"text": "a"}
    record(
        "transformers",
        transformers.__version__,
        **{pipe.task.replace("-", "_"): pipe(Image.fromarray(data[0].load()), **asked)},
    )
    answers = evaluated(pipe, "attributes", data)
    assert set(answers) == {sample.id for sample in data}
    assert {value for answer in answers.values() for value in answer.values.values()} <= {"female", "male"}


@pytest.mark.parametrize(
    ("kind", "options"),
    [("yolov8n", {}), ("yolo11n", {}), ("yolo26n", {}), ("yolov5n", {}), ("yolov8n", {"nms": True})],
)
def test_onnx_files_of_yolo_give_what_ultralytics_gives(tmp_path, monkeypatch, kind: str, options: Any) -> None:
    ultralytics = pytest.importorskip("ultralytics")
    from PIL import Image

    from countenance.models import ModelSpec

    monkeypatch.chdir(tmp_path)
    path = yolo(kind, COCO_80).export(format="onnx", imgsz=64, simplify=False, verbose=False, **options)
    ours, theirs = ModelSpec(path).load(), ultralytics.YOLO(path, task="detect")
    for i, size in enumerate([(64, 64), (100, 64), (333, 200), (31, 90)]):
        picture = np.asarray(Image.fromarray(face_picture(i)[0]).resize(size))
        (result,) = theirs.predict([np.ascontiguousarray(picture[:, :, ::-1])], imgsz=64, verbose=False, rect=False)
        chosen = result.boxes.cls.numpy() == 0
        same_boxes(ours([picture])[0], result.boxes.xyxy.numpy()[chosen], result.boxes.conf.numpy()[chosen])
    assert len(result.boxes)
