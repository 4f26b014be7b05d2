"""Models that MLflow loads (`mlflow.pyfunc.load_model`): called with one picture at a time, in the form they declare.

Without a signature the model gets a list with one array; with a tensor signature an array whose first axis has length
one; with a column of binary data or text the picture as PNG, for text in base64.
"""

import base64
from typing import Any

import numpy as np

from countenance.answers.raw import described
from countenance.data.image import encode_png
from countenance.models.adapters import base


def adapt(model: Any, request: base.Request) -> base.AdaptedModel:
    """The model behind `predict`."""
    if not hasattr(model, "predict") or not hasattr(model, "metadata"):
        raise request.refusal(f"mlflow {type(model).__name__}", "something else", "give mlflow.pyfunc.load_model(…)")
    schema = model.metadata.get_input_schema()
    name = str(getattr(model.metadata, "flavors", {}).get("python_function", {}).get("loader_module", "pyfunc"))
    content = str(getattr(model, "model_id", None) or getattr(model.metadata, "model_uuid", ""))
    call = base.each(lambda image: _first(model.predict(_input(image, schema))))
    return base.AdaptedModel("mlflow", name, call, (), content)


def _input(image: base.Pixels, schema: Any) -> Any:
    """A picture as the model's signature declares its input."""
    if schema is None:
        return [image]
    if schema.is_tensor_spec():
        (tensor,) = schema.inputs
        planar = len(tensor.shape) == 4 and tensor.shape[1] == 3 and tensor.shape[3] != 3
        values = image.transpose(2, 0, 1) if planar else image
        batch = values[None].astype(tensor.type)
        return batch if tensor.name is None else {tensor.name: batch}
    import pandas as pd

    content: Any = encode_png(image)
    (kind,) = {str(item.type).rpartition(".")[2].lower() for item in schema.inputs}
    cell = base64.b64encode(content).decode() if kind.startswith("str") else content
    return pd.DataFrame({schema.input_names()[0] if schema.input_names() else 0: [cell]})


def _first(answers: Any) -> Any:
    """The answer for the one picture."""
    rows = answers.to_dict("records") if hasattr(answers, "to_dict") else answers
    if isinstance(rows, dict):
        return {
            name: value[0] if isinstance(value, np.ndarray) and len(value) == 1 else value
            for name, value in rows.items()
        }
    if not hasattr(rows, "__len__") or len(rows) != 1:
        raise ValueError(f"the model returned {described(answers)} for one picture, expected one answer")
    return rows[0]
