"""Adapters of insightface, deepface and MLflow against the installed packages, skipped by name where there are none.

Nothing is downloaded: insightface gets a network whose answers are fixed, deepface the cascade of OpenCV.
"""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.models.adapters.fixed_network import fixed_network
from tests.models.adapters.recorded import record

import countenance as ct
from countenance.models import ModelSpec
from countenance.testing import DiscDetector, small_dataset

pytestmark = pytest.mark.filterwarnings("ignore")


def scrfd(path: Path) -> None:
    """A detector of insightface's layout that finds one face, at (16, 0) to (48, 32) of a picture of 64 × 64."""
    outputs = {}
    for kind, width, value in (("score", 1, 0.01), ("bbox", 4, 1.0), ("kps", 10, 0.1)):
        for stride in (8, 16, 32):
            outputs[f"{kind}_{stride}"] = np.full(((64 // stride) ** 2 * 2, width), value)
    outputs["score_16"][12] = 0.9
    fixed_network(path, ["h", "w"], outputs)


def test_insightface(tmp_path: Path) -> None:
    app = pytest.importorskip("insightface.app")
    scrfd(tmp_path / "det.onnx")
    fixed_network(tmp_path / "age.onnx", [96, 96], {"fc1": np.array([[0.2, 0.8, 0.31]])})
    fixed_network(tmp_path / "rec.onnx", [112, 112], {"vector": np.arange(1.0, 9.0)[None]})
    faces = app.FaceAnalysis(str(tmp_path), providers=["CPUExecutionProvider"])
    faces.prepare(ctx_id=-1, det_size=(64, 64))
    data = small_dataset(6)
    with pytest.raises(ct.InputError, match="person_localization"):
        ct.evaluate(faces, "person_localization", data)
    boxes = ct.evaluate(faces, "face_localization", data).answers()[data[0].id]
    assert np.allclose(boxes.xyxy, [[16, 0, 48, 32]]) and np.allclose(boxes.scores, 0.9)
    vector = ct.evaluate(faces, "face_verification", data).answers()[data[0].id].vector
    assert np.allclose(vector, np.arange(1.0, 9.0) / np.linalg.norm(np.arange(1.0, 9.0)), atol=1e-6)
    labels = ct.evaluate(faces, "attributes", data).answers()
    assert {answer.values["gender"] for answer in labels.values()} == {"male"}
    (face,) = faces.get(data[0].load()[:, :, ::-1])
    record("insightface", pytest.importorskip("insightface").__version__, face=dict(face))


def test_deepface(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cv2 = pytest.importorskip("cv2")
    pytest.importorskip("deepface")
    weights = tmp_path / ".deepface" / "weights"
    weights.mkdir(parents=True)
    for name in ("frontalface_default", "eye"):
        shutil.copy(Path(cv2.data.haarcascades) / f"haarcascade_{name}.xml", weights)
    monkeypatch.setenv("DEEPFACE_HOME", str(tmp_path))
    from deepface import DeepFace
    from deepface.modules import modeling

    data = ct.Dataset(ct.load_dataset("people:portraits").card, list(ct.load_dataset("people:portraits"))[:8])
    answers = ct.evaluate(DeepFace, "face_localization", data).answers()
    assert sum(len(boxes) for boxes in answers.values())
    for sample in data:
        found = DeepFace.extract_faces(sample.load()[:, :, ::-1], enforce_detection=False, align=False)
        areas = [face["facial_area"] for face in found if face["confidence"]]
        assert answers[sample.id].xyxy.tolist() == [[a["x"], a["y"], a["x"] + a["w"], a["y"] + a["h"]] for a in areas]

    listed = [{name: value for name, value in face.items() if name != "face"} for face in found]
    empty = DeepFace.extract_faces(np.zeros((60, 80, 3), np.uint8), enforce_detection=False)[0]
    nobody = {name: value for name, value in empty.items() if name != "face"}
    version = pytest.importorskip("deepface").__version__
    record("deepface", version, extract_faces=listed, nobody=nobody)

    class Fixed:  # no weights can be downloaded here; everything around the network is deepface's own
        model_name, input_shape, output_shape = "fixed", (64, 64), 3
        forward = staticmethod(lambda picture: [0.0, 3.0, 4.0])
        predict = staticmethod(lambda picture: np.array([0.9, 0.1]))

    modeling.build_model("face_detector", "opencv")
    monkeypatch.setitem(modeling.cached_models["facial_recognition"], "VGG-Face", Fixed())
    monkeypatch.setitem(modeling.cached_models["facial_attribute"], "Gender", Fixed())
    vectors = [answer.vector for answer in ct.evaluate(DeepFace, "face_verification", data).answers().values()]
    assert [0.0, 3.0, 4.0] in [vector.tolist() for vector in vectors if vector is not None]
    labels = [answer.values for answer in ct.evaluate(DeepFace, "attributes", data).answers().values()]
    assert {"gender": "female"} in labels
    picture = sample.load()[:, :, ::-1]
    record("deepface", version, represent=DeepFace.represent(picture, enforce_detection=False))
    record("deepface", version, analyze=DeepFace.analyze(picture, actions=["gender"], enforce_detection=False))


def test_mlflow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mlflow = pytest.importorskip("mlflow")
    pytest.importorskip("pandas")
    monkeypatch.chdir(tmp_path)

    class Discs(mlflow.pyfunc.PythonModel):
        def predict(self, context: Any, model_input: Any, params: Any = None) -> Any:
            return [{"boxes": box.xyxy, "scores": box.scores} for box in DiscDetector()(pictures(model_input))]

    def pictures(given: Any) -> list[Any]:
        import base64

        from countenance.data.image import decode

        if isinstance(given, np.ndarray):
            return list(given.astype(np.uint8))
        if isinstance(given, list):
            return given
        cells = given.iloc[:, 0]
        return [decode(base64.b64decode(cell) if isinstance(cell, str) else cell) for cell in cells]

    data = small_dataset(6)
    types, schema = mlflow.types, mlflow.types.schema
    signatures = {
        "none": None,
        "tensor": schema.Schema([schema.TensorSpec(np.dtype(np.uint8), (-1, 64, 64, 3))]),
        "binary": schema.Schema([schema.ColSpec(types.DataType.binary, "picture")]),
        "text": schema.Schema([schema.ColSpec(types.DataType.string)]),
    }
    wanted = {sample.id: DiscDetector()([sample.load()])[0].xyxy.tolist() for sample in data}
    for name, inputs in signatures.items():
        signature = None if inputs is None else mlflow.models.ModelSignature(inputs=inputs)
        mlflow.pyfunc.save_model(tmp_path / name, python_model=Discs(), signature=signature)
        run = ct.evaluate(mlflow.pyfunc.load_model(str(tmp_path / name)), "face_localization", data)
        assert {key: answer.xyxy.tolist() for key, answer in run.answers().items()} == wanted, name
        assert run.manifest.model.source.startswith("mlflow 3")


def test_tflite(tmp_path: Path) -> None:
    pytest.importorskip("ai_edge_litert.interpreter")
    tensorflow = pytest.importorskip("tensorflow")
    layers, lite = tensorflow.keras.layers, tensorflow.lite
    network = tensorflow.keras.Sequential(
        [layers.Input((8, 8, 3)), layers.Conv2D(4, 3), layers.GlobalAveragePooling2D(), layers.Dense(2)]
    )
    picture = np.arange(192, dtype=np.uint8).reshape(8, 8, 3)
    logits = network(picture[None].astype(np.float32)).numpy()[0]
    random = np.random.default_rng(0)
    pictures = [[random.uniform(0, 255, (1, 8, 8, 3)).astype(np.float32)] for _ in range(50)]
    for name in ("real", "quantised"):
        converter = lite.TFLiteConverter.from_keras_model(network)
        if name == "quantised":
            converter.optimizations = [lite.Optimize.DEFAULT]
            converter.representative_dataset = lambda: pictures
            converter.target_spec.supported_ops = [lite.OpsSet.TFLITE_BUILTINS_INT8]
            converter.inference_input_type = converter.inference_output_type = tensorflow.uint8
        path = tmp_path / f"{name}.tflite"
        path.write_bytes(converter.convert())
        declared = {"input": {"size": [8, 8], "layout": "NHWC"}, "output": {"kind": "embedding"}}
        path.with_name(f"{path.name}.json").write_text(json.dumps(declared))
        (found,) = ModelSpec(str(path)).load()([picture])
        # Eight bits hold the logits of these pictures in steps of less than one.
        assert np.allclose(found.vector, logits, atol=1e-3 if name == "real" else 3.0)
