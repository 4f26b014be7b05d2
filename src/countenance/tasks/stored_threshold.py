"""Reads the threshold of another run, for a task that reuses it."""

from typing import Any

from countenance.decoding import json_of
from countenance.errors import InputError
from countenance.storage import Missing, open_storage
from countenance.tasks.results import numbers, results_from_json

NAME = "threshold"


def threshold_of(run: str, similarity: str) -> float:
    """The threshold of a run with the same similarity; InputError if it has none."""
    storage = open_storage(run)
    try:
        results = results_from_json(storage.read("results.json"))
        options: dict[str, Any] = json_of(storage.read("run.json"), f"{run}/run.json").get("options") or {}
    except Missing:
        raise InputError(f"{run}: no finished run of face_verification here; name a run directory") from None
    except (ValueError, AttributeError) as error:
        raise InputError(f"{run}: its results cannot be read ({str(error).splitlines()[0]})") from None
    thresholds = [number.value for number in numbers(results) if number.name == NAME]
    if not thresholds:
        raise InputError(f"{run}: its results hold no threshold; name a run of face_verification")
    if options.get("similarity", similarity) != similarity:
        raise InputError(f"{run}: its threshold is of {options['similarity']} similarity, this run's is {similarity}")
    return thresholds[0]
