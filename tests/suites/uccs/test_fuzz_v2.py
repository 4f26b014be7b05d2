"""Version 2: the fast code against the plain one."""

import pytest
from challenge_cases import agree, detections, faces, grouped, many, some_here
from challenge_files import write_truth, write_v2
from hypothesis import given
from hypothesis import strategies as st

from countenance.suites.uccs import CurveSettings, evaluate_detector, evaluate_recognizer
from naive import dir_, froc


@pytest.mark.slow
@many
@given(faces, detections, st.sampled_from([0.25, 0.5, 0.75]), st.integers(1, 3), st.booleans(), st.booleans())
def test_fast_and_plain_code_draw_the_same_curves(tmp_path_factory, faces, detections, limit, rank, log, present):
    folder = write_truth(tmp_path_factory.getbasetemp() / "fuzz2", faces)
    rows = [(name, where, q, labels) for name, where, q, labels, _ in some_here(faces, detections)]
    path = write_v2(folder / "v2.txt", rows)
    truth = grouped(faces)
    found = grouped([(name, where, q, dict(labels)) for name, where, q, labels in rows])
    chosen = CurveSettings(log=log, only_present=present, overlap=limit, rank=rank)
    agree(evaluate_detector(folder, [path], settings=chosen)[0], froc(truth, found, log, present, limit))
    probes = [name for name, subject, _ in faces if subject > 0 and (not present or name in found)]
    if probes and any(labels for *_, labels in rows):
        expected = dir_(truth, found, log, present, rank, limit)
        agree(evaluate_recognizer(folder, [path], settings=chosen)[0], expected)
