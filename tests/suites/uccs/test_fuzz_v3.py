"""Version 3: the fast code against the plain one."""

import pytest
from challenge_cases import SUBJECTS, agree, detections, faces, grouped, many, some_here
from challenge_files import write_truth, write_v3
from hypothesis import given
from hypothesis import strategies as st

from countenance.suites.uccs import CurveSettings, evaluate_detector, evaluate_recognizer
from naive import per_image


@pytest.mark.slow
@many
@given(
    faces,
    detections,
    st.sampled_from([0.25, 0.5, 0.75]),
    st.integers(1, 3),
    st.sets(st.integers(1, 7), max_size=2),
)
def test_fast_and_plain_code_draw_the_same_curves(tmp_path_factory, faces, detections, limit, rank, out):
    excluded = {k for k in out if k <= len(faces) and faces[k - 1][1] > 0}
    folder = write_truth(tmp_path_factory.getbasetemp() / "fuzz3", faces, excluded)
    truth = grouped([(name, k, subject, where) for k, (name, subject, where) in enumerate(faces, 1)])
    rows = [(name, where, q, similar) for name, where, q, _, similar in some_here(faces, detections)]
    found = grouped(rows)
    chosen = CurveSettings(overlap=limit, rank=rank)
    if len(excluded) < len(faces):
        path = write_v3(folder / "v3.txt", rows)
        agree(evaluate_detector(folder, [path], settings=chosen)[0], per_image(truth, found, excluded, None, limit))
    if sum(subject > 0 for _, subject, _ in faces) > len(excluded):
        path = write_v3(folder / "v3s.txt", rows, SUBJECTS)
        agree(evaluate_recognizer(folder, [path], settings=chosen)[0], per_image(truth, found, excluded, rank, limit))
