"""Face verification is audited by the false match rate among people of the same group, as a ratio."""

from pathlib import Path

import numpy as np
import pytest
from tests.gating.conftest import write_run

from countenance.errors import InputError
from countenance.metrics.pairs.comparisons import Comparisons
from countenance.metrics.pairs.groups import AcceptedCounts, Groups
from countenance.metrics.pairs.vectors import Vectors
from countenance.run import Run, audit_run
from countenance.run.auditing import computed_of
from countenance.run.manifest import MetricRecord
from countenance.tasks.results import Number, Result
from countenance.tasks.verification_results import FALSE_MATCHES, false_matches

PEOPLE = (80, 30)


def pictures(seed: int, nearer: float = 0.0) -> tuple[list[Result], np.ndarray, list[str]]:
    """Faces of two groups of unlike sizes, each about a place of its own; `nearer` moves those of the small one."""
    rng = np.random.default_rng(seed)
    label = np.repeat(["a", "b"], PEOPLE)
    centre = rng.normal(size=(sum(PEOPLE), 24))
    for name, far in (("a", 1.5), ("b", 1.5 + nearer)):
        towards = rng.normal(size=24)
        centre[label == name] += far * towards / np.linalg.norm(towards)
    person = np.repeat(np.arange(sum(PEOPLE)), 3)
    vectors = centre[person] + 0.9 * rng.normal(size=(len(person), 24))
    groups = Groups.of([(one,) for one in label[person]], ["a", "b"])
    compared = Comparisons.of(Vectors.of(vectors, "cosine"), person)
    counts = AcceptedCounts(compared.identity, [groups])
    compared.accepted_at_rate(0.01, counts.add)
    return false_matches(counts, 0, "g", groups, ""), person, label[person].tolist()


def audited(place: Path, seed: int, nearer: float = 0.0) -> Run:
    results, person, label = pictures(seed, nearer)
    rows = {"identity": [f"p{one}" for one in person], "attr.g": label, "m.genuine_accepted": [1.0] * len(label)}
    run = write_run(place, rows, results=results)
    record = MetricRecord(name=FALSE_MATCHES.name, better="lower", headline=True, of_groups=True)
    run.store.write_manifest(run.manifest.model_copy(update={"metrics": [*run.manifest.metrics, record]}))
    run.store.seal()
    return Run(place)


def test_groups_that_are_alike_are_not_told_apart_by_their_sizes(tmp_path: Path) -> None:
    hits = 0
    for seed in range(12):
        found = audit_run(audited(tmp_path / str(seed), seed), ["g"], adjust="holm")
        [one] = [f for f in found.findings if f.metric == "FMR"]
        hits += one.verdict == "disparity"
        assert one.effect_name == "ratio" and one.direction in ("worse", "better")
    assert hits <= 2


def test_a_group_whose_people_are_taken_for_each_other_is_named(tmp_path: Path) -> None:
    run = audited(tmp_path / "run", 1, nearer=2.5)
    found = audit_run(run)
    [one] = [f for f in found.findings if f.metric == "FMR"]
    better, worse = [number.value for number in run.results() if isinstance(number, Number)]
    assert one.verdict == "disparity" and (one.group, one.versus) == ("a", "b") and one.direction == "better"
    assert one.effect == pytest.approx(better / worse) and one.failure_ratio.value == pytest.approx(worse / better)
    assert found.settings["metrics"] == ["genuine_accepted", "FMR"]
    lax = audit_run(run, ["g"], ["genuine_accepted", "FMR"], delta={"FMR": 50})
    assert next(f for f in lax.findings if f.metric == "FMR").verdict == "none larger than 50 times"


def test_rates_of_groups_are_those_of_the_whole_run(tmp_path: Path) -> None:
    run = audited(tmp_path / "run", 2)
    assert [one.attribute for one in computed_of(run)] == ["g"]
    some = audit_run(run, ["g"], where={"g": ["a", "b"]}, adjust="holm")
    assert {f.metric for f in some.findings} == {"genuine_accepted"}
    with pytest.raises(InputError, match="rows do not have FMR; it is compared beside a metric that they have"):
        audit_run(run, ["g"], ["FMR"])
