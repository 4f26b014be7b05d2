"""Who is in the images without an answer is said, group by group."""

import re

import numpy as np

from countenance.report import write_report
from countenance.run import audit_run, evaluate, store_audit
from countenance.testing import DiscDetector, small_dataset


def test_the_page_says_whom_the_failures_show(tmp_path) -> None:
    dataset = small_dataset(90)
    dark = {sample.load().tobytes() for sample in dataset if sample.subjects[0].attributes["skin_tone"] == "monk_9"}

    def refuses_some(images):
        return [[[0, 0, 1, np.nan]] if image.tobytes() in dark else DiscDetector()([image])[0] for image in images]

    run = evaluate(refuses_some, "face_localization", dataset, out=tmp_path / "run")
    store_audit(run, audit_run(run, by=["skin_tone"]))
    page = write_report(run).read_text(encoding="utf-8")
    section = page[page.index('id="unanswered"') :]
    text = re.sub(r"<[^>]+>", " ", section[: section.index("</section>")])
    rows = re.sub(r"\s+", " ", text)
    assert "skin_tone monk_9 30 30 100.0 %" in rows and "skin_tone monk_2 0 30 0.0 %" in rows
