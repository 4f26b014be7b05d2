"""Every number that the tasks name: what results rest on, and how much is worked on at once."""

from tests.listed_numbers import constants, defaults

METHOD = {
    "face_parsing.EARS_TO_SKIN": {8: 1, 9: 1}, "face_encoding.SIDE": 256, "mask_detection.OVERLAP": 0.5,
    "face_identification.DEFAULT_FPIR": 1e-2, "face_verification.DEFAULT_FMR": 1e-3, "validation_rate.FAR": 1e-3,
    "identification_results.RANKS": (1, 5, 10, 20), "identification_results.RATES": (1e-1, 1e-2, 1e-3),
    "identification_results.POINTS": 41, "verification_results.RATES": (1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6),
    "verification_results.FEW_PEOPLE": 20, "verification_results.BINS": 60,
    "age_results.DECADE": 10, "precision.REPLICATES": 200,
}  # fmt: skip
"""Rates at which errors are told, bins of charts, draws of intervals: results are made of them."""

WORDS = {"attribute_results.MOST_WORDS": 12, "attributes.MOST_LISTED": 12, "attributes.MOST_NOTES": 8}
"""How many answers a table or a note lists."""

AT_ONCE = {"precision.BLOCK": 2**17, "precision.RUN": 2**20, "face_parsing.TABLE": 32, "states.LENGTH": 8}
"""How much is held together; tests elsewhere make the first two small."""


def test_numbers_of_the_tasks() -> None:
    assert constants("tasks") == {**METHOD, **WORDS, **AT_ONCE}


def test_what_functions_do_when_nothing_is_said() -> None:
    assert defaults("tasks") == {
        "challenge_age": 25.0, "minimum_age": 18.0, "known": 0.5, "pictures": 1, "level": 0.95, "icc": 0.0, "n": 0,
        "seed": 0, "headline": False, "log": False, "map_ears_to_skin": False, "validation_rate": False,
    }  # fmt: skip
