"""Caffe networks through OpenCV's `dnn`."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from countenance.errors import ModelError, opencv


def open_caffe(weights: Path, layouts: Sequence[Path]) -> Any:
    """The network of a .caffemodel with the first of the .prototxt files that exists."""
    cv2 = opencv("a Caffe network")
    layout = next((path for path in layouts if path.is_file()), None)
    if layout is None:
        raise ModelError(f"{layouts[0]}: no such file; the .prototxt lies beside the .caffemodel under the same name")
    if not hasattr(cv2.dnn, "readNetFromCaffe"):
        raise ModelError("this OpenCV has no Caffe importer: pip install 'countenance[opencv]'")
    cv2.setNumThreads(int(os.environ.get("COUNTENANCE_THREADS", "0")) or -1)
    try:
        return cv2.dnn.readNetFromCaffe(str(layout), str(weights))
    except cv2.error as error:
        raise ModelError(f"{weights}: OpenCV cannot open it with {layout.name} ({error.err})") from None
