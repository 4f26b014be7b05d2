"""Rules of tasks at their limits, and values that never change."""

import numpy as np
import pyarrow as pa
import pytest
from tests.frozen import unfrozen

import countenance.tasks
from countenance.tasks.body_parts_detection import to_parts
from countenance.tasks.face_identification import IdentificationOptions, _gallery


@pytest.mark.parametrize(("known", "people"), [(0.01, 1), (0.1, 1), (0.3, 3), (0.9, 9)])
def test_a_gallery_holds_at_least_one_person_and_no_more_than_asked(known, people):
    names = np.array([f"p{i // 3}" for i in range(30)])
    chosen = _gallery(names, pa.table({"sample": names}), IdentificationOptions(known=known), 0)
    assert len(set(names[chosen])) == people and chosen.sum() == people


@pytest.mark.parametrize("raw", ["Face", 7, [1], ({"Face": 0.5}, 3), None])
def test_what_is_no_list_of_parts_is_refused(raw):
    with pytest.raises(ValueError, match="expected a list with the parts of each person"):
        to_parts(raw)


@pytest.mark.parametrize("value", [True, "0.5", None])
def test_a_probability_of_a_part_is_a_number(value):
    with pytest.raises(ValueError, match="expected a number from 0 to 1"):
        to_parts([{"Face": value}])


def test_settings_and_results_never_change():
    assert unfrozen(countenance.tasks) == set()
