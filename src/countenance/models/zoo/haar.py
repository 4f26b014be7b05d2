"""OpenCV's frontal-face Haar cascade: a detector older than neural ones, still used as a baseline."""

from pathlib import Path

import numpy as np

from countenance.answers import Boxes
from countenance.errors import ModelError, opencv
from countenance.models.model import Images


class Haar:
    """Face boxes from the cascade inside the opencv package. Scores are stage weights mapped to 0 to 1."""

    def __init__(self, min_neighbours: int = 4, scale_factor: float = 1.1) -> None:
        cv2 = opencv("the Haar cascade")

        path = Path(cv2.__file__).parent / "data" / "haarcascade_frontalface_default.xml"
        if not path.is_file():
            raise ModelError("this opencv carries no Haar cascades: pip install 'countenance[opencv]'")
        cv2.setNumThreads(1)
        self.cascade = cv2.CascadeClassifier(str(path))
        self.min_neighbours, self.scale_factor = min_neighbours, scale_factor

    def __call__(self, images: Images) -> list[Boxes]:
        cv2 = opencv("the Haar cascade")

        answers = []
        for image in images:
            grey = cv2.cvtColor(np.ascontiguousarray(image), cv2.COLOR_RGB2GRAY)
            detections, _, weights = self.cascade.detectMultiScale3(
                grey, self.scale_factor, self.min_neighbours, minSize=(24, 24), outputRejectLevels=True
            )
            scores = 1 / (1 + np.exp(-np.asarray(weights, dtype=np.float64).reshape(-1) / 2))
            answers.append(Boxes.from_xywh(np.asarray(detections, dtype=np.float64).reshape(-1, 4), scores))
        return answers
