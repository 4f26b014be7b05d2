"""Verification and identification against plain loops over every pair, for both similarities."""

import itertools

import numpy as np
import pytest

import countenance as ct
from countenance.metrics.intervals import IntervalEstimate
from countenance.tasks.face_identification import FACE_IDENTIFICATION
from countenance.tasks.face_verification import FACE_VERIFICATION
from countenance.tasks.results import Number
from countenance.tasks.verification_results import few, number, too_few
from countenance.testing import reduced

BLANK = ct.ArrayImage(np.zeros((4, 4, 3), np.uint8))


class Made:
    """Pictures of people with vectors around their centres, in no order of people, some without a vector."""

    def __init__(self, task, sizes, noise=0.8, missing=(), seed=0):
        random = np.random.default_rng(seed)
        owner = random.permutation(np.repeat(np.arange(len(sizes)), sizes))
        centres = random.normal(size=(len(sizes), 6))
        self.people = [f"p{who:02d}" for who in owner]
        self.tone = ["abc"[who % 3] for who in owner]
        self.vectors = [
            None if i in missing else centres[who] + noise * random.normal(size=6) for i, who in enumerate(owner)
        ]
        self.samples, self.answers = [], {}
        for i, (who, tone, vector) in enumerate(zip(self.people, self.tone, self.vectors, strict=True)):
            split = "validation" if int(who[1:]) % 2 else "test"
            subject = ct.Subject("0", who, attributes={"tone": tone, "split": split})
            self.samples.append(ct.Sample(f"s{i}", BLANK, 4, 4, (subject,)))
            self.answers[f"s{i}"] = task.check(vector, self.samples[-1])

    def score(self, i, j, similarity):
        a, b = self.vectors[i], self.vectors[j]
        if similarity == "euclidean":
            return -float(np.linalg.norm(a - b))
        return float(a @ b / np.linalg.norm(a) / np.linalg.norm(b))

    def pairs(self, similarity, chosen=lambda i: True):
        """Genuine and impostor pairs (i, j, score) of pictures with a vector."""
        there = [i for i, vector in enumerate(self.vectors) if vector is not None and chosen(i)]
        found = {True: [], False: []}
        for i, j in itertools.combinations(there, 2):
            found[self.people[i] == self.people[j]].append((i, j, self.score(i, j, similarity)))
        return found[True], found[False]


SIZES = [4, 3, 5, 1, 2, 4, 6, 3, 2, 4, 3, 5]


def found_by(made, options):
    task = FACE_VERIFICATION.configured(options)
    result = reduced(task, made.samples, made.answers, shards=3, seed=5)
    return result, {
        (one.name, getattr(one, "group", None), getattr(one, "attribute", None)): one for one in result.results
    }


def rate_of(one):
    return 0.0 if one.bound == "<" else one.value


@pytest.mark.parametrize(("similarity", "threshold"), [("cosine", 0.35), ("euclidean", 2.6)])
def test_a_given_threshold_against_every_pair(similarity, threshold):
    made = Made(FACE_VERIFICATION, SIZES, missing=(0, 7, 20))
    result, found = found_by(made, {"threshold": threshold, "similarity": similarity})
    genuine, impostor = made.pairs(similarity)
    limit = -threshold if similarity == "euclidean" else threshold
    fmr, fnmr = found["FMR", None, None], found["FNMR", None, None]
    assert (fmr.n, fnmr.n) == (len(impostor), len(genuine))
    assert rate_of(fmr) == pytest.approx(np.mean([s >= limit for *_, s in impostor]))
    assert rate_of(fnmr) == pytest.approx(np.mean([s < limit for *_, s in genuine]))
    assert found["threshold", None, None].value == pytest.approx(threshold)
    assert found["failure to enrol", None, None].value == pytest.approx(3 / len(made.people))
    for name, pairs in (("genuine_accepted", genuine), ("impostor_accepted", impostor)):
        column = result.columns[name]
        for i in range(len(made.people)):
            own = [s >= limit for a, b, s in pairs if i in (a, b)]
            assert column[i] == pytest.approx(np.mean(own)) if own else np.isnan(column[i])
    matrix = found["FMR by group", None, "tone"]
    for r, c in itertools.product(range(3), range(3)):
        wanted = {"abc"[r], "abc"[c]}
        own = [s >= limit for i, j, s in impostor if {made.tone[i], made.tone[j]} == wanted]
        assert matrix.counts[r][c] == len(own) and matrix.values[r][c] == pytest.approx(np.mean(own))
    for group in "abc":
        own = [s < limit for i, j, s in genuine if made.tone[i] == group == made.tone[j]]
        assert found["group FNMR", group, "tone"].n == len(own)
        assert rate_of(found["group FNMR", group, "tone"]) == pytest.approx(np.mean(own))
        own = [s >= limit for i, j, s in impostor if made.tone[i] == group == made.tone[j]]
        assert rate_of(found["group FMR", group, "tone"]) == pytest.approx(np.mean(own))
        failed = [made.vectors[i] is None for i, tone in enumerate(made.tone) if tone == group]
        assert rate_of(found["group failure to enrol", group, "tone"]) == pytest.approx(np.mean(failed))
    assert result.notes[1] == "1 of 12 people have one picture with an embedding: they are in impostor pairs only"
    assert result.notes[2] == f"3 of {len(made.people)} pictures have no embedding and are in no pair"


@pytest.mark.parametrize("similarity", ["cosine", "euclidean"])
@pytest.mark.parametrize("fmr", [0.02, 0.1])
def test_the_threshold_of_a_rate_is_the_smallest_that_keeps_it(similarity, fmr):
    made = Made(FACE_VERIFICATION, SIZES, seed=3)
    result, found = found_by(made, {"fmr": fmr, "similarity": similarity})
    genuine, impostor = made.pairs(similarity)
    falling = sorted((s for *_, s in impostor), reverse=True)
    allowed = int(np.floor(fmr * len(falling) + 1e-9))
    at = found["threshold", None, None].value * (-1 if similarity == "euclidean" else 1)
    assert falling[allowed] < at <= falling[allowed - 1]
    assert rate_of(found["FMR", None, None]) == pytest.approx(allowed / len(falling))
    assert f"of at most {fmr:g} on all {len(impostor)} impostor pairs" in result.notes[0]
    for rate in (0.1, 0.01):
        shown = found[f"FNMR@FMR={rate:g}", None, None]
        if len(impostor) * rate < 3:
            assert np.isnan(shown.value) and "fewer than 3 / " in shown.note
            continue
        refused = np.mean([s <= falling[int(np.floor(rate * len(falling) + 1e-9))] for *_, s in genuine])
        assert rate_of(shown) == pytest.approx(refused, abs=1e-9) and shown.n == len(genuine)
    assert np.isnan(found["FNMR@FMR=0.0001", None, None].value)


@pytest.mark.parametrize("similarity", ["cosine", "euclidean"])
def test_densities_and_shifts_are_those_of_all_pairs(similarity):
    made = Made(FACE_VERIFICATION, SIZES, seed=4)
    _, found = found_by(made, {"threshold": 0.5, "similarity": similarity})
    sign = -1 if similarity == "euclidean" else 1
    for name, pairs in zip(("mated", "non-mated"), made.pairs(similarity), strict=True):
        scores = np.array([s for *_, s in pairs])
        squares = sign * scores**2 if similarity == "euclidean" else scores  # what is averaged and cut into bins
        (line,) = found[f"{name} scores", None, None].lines
        assert len(line.x) == 60 and line.x == sorted(line.x)
        edges = np.linspace(squares.min(), squares.max(), 61)
        shown = np.sqrt(-edges)[::-1] if similarity == "euclidean" else edges
        assert line.x == pytest.approx((shown[1:] + shown[:-1]) / 2)
        assert line.y == pytest.approx(np.histogram(sign * scores, shown, density=True)[0], abs=1e-9)
        for group in "abc":
            own = np.array(
                [q for (i, j, _), q in zip(pairs, squares, strict=True) if made.tone[i] == group == made.tone[j]]
            )
            shift = found[f"shift of {name} scores", group, "tone"]
            assert shift.value == pytest.approx((own.mean() - squares.mean()) / squares.std())
            assert shift.n == len(own) and shift.low < shift.value < shift.high
            assert shift.note.startswith("only ")


def test_a_threshold_is_found_on_other_people():
    made = Made(FACE_VERIFICATION, [3] * 20, seed=6)
    result, found = found_by(made, {"fmr": 0.05, "calibration": "split=validation"})
    _, other = made.pairs("cosine", lambda i: int(made.people[i][1:]) % 2 == 1)
    genuine, impostor = made.pairs("cosine", lambda i: int(made.people[i][1:]) % 2 == 0)
    falling = sorted((s for *_, s in other), reverse=True)
    at = found["threshold", None, None].value
    assert falling[int(0.05 * len(falling))] < at <= falling[int(0.05 * len(falling)) - 1]
    assert rate_of(found["FMR", None, None]) == pytest.approx(np.mean([s >= at for *_, s in impostor]))
    assert found["FNMR", None, None].n == len(genuine)
    assert f"{len(other)} impostor pairs of 10 other people (calibration split=validation)" in result.notes[0]
    result, found = found_by(made, {"fmr": 0.05, "calibration": "0.3"})
    assert found["FMR", None, None].n == 14 * 13 // 2 * 9 and "of 6 other people" in result.notes[0]
    assert np.isnan(result.columns["impostor_accepted"]).sum() == 18


@pytest.mark.parametrize("text", ["0", "1", "-0.1", "nan", "x", "=", "split=", "=a"])
def test_calibrations_that_make_no_sense(text):
    with pytest.raises(ct.InputError, match="expected a share such as"):
        FACE_VERIFICATION.configured({"calibration": text})


@pytest.mark.parametrize(
    ("calibration", "message"),
    [
        ("none=a", "no attribute 'none'"),
        ("tone=z", "no picture has tone = z"),
        ("0.01", "fewer than two people"),
        ("0.99", "fewer than two people"),
        ("split=test", None),
    ],
)
def test_a_calibration_needs_two_people_on_both_sides(calibration, message):
    made = Made(FACE_VERIFICATION, [2] * 4)
    if message is None:
        found_by(made, {"calibration": calibration})
        return
    with pytest.raises(ct.InputError, match=message):
        found_by(made, {"calibration": calibration})


@pytest.mark.parametrize(
    "options",
    [
        {"threshold": 1, "fmr": 0.1},
        {"threshold": 1, "calibration": "0.3"},
        {"fmr": 0},
        {"fmr": 1},
        {"threshold": -0.1, "similarity": "euclidean"},
    ],
)
def test_options_of_verification_that_contradict(options):
    with pytest.raises(ct.InputError):
        FACE_VERIFICATION.configured(options)


def test_options_of_verification_that_hold():
    assert FACE_VERIFICATION.configured({"threshold": 0, "similarity": "euclidean"}).options.threshold == 0
    assert FACE_VERIFICATION.configured({"threshold": -0.1}).options.rate == 0.001
    assert FACE_VERIFICATION.configured({"fmr": 0.5}).options.rate == 0.5
    deltas = {metric.name: metric.delta for metric in FACE_VERIFICATION.configured({"fmr": 0.5}).metrics}
    assert deltas["impostor_accepted"] == 0.5


def test_one_person_is_not_compared():
    made = Made(FACE_VERIFICATION, [4])
    result, found = found_by(made, {})
    assert ("FMR", None, None) not in found and "fewer than two people" in result.notes[0]


def test_small_numbers_say_so():
    assert too_few(299, 0.01) and not too_few(300, 0.01)
    made = [few(IntervalEstimate(0.5, 0, 1, n, people)) for n, people in ((0, 0), (5, 1), (5, 2), (99, 19), (99, 20))]
    assert made == [
        "nothing to compare: not a single case in this group",
        "only 1 person",
        "only 2 people",
        "only 19 people",
        "",
    ]
    none = number("FMR", "", IntervalEstimate(0.0, 0.0, 0.01, 100, 50), "pairs", note="so")
    assert (none.value, none.bound, none.low, none.high, none.note) == (0.03, "<", 0.0, 0.03, "so")
    assert number("FMR", "", IntervalEstimate(0.0, 0.0, 0.2, 100, 50), "pairs").high == 0.2
    assert number("FMR", "", IntervalEstimate(0.0, 0.0, 0.2, 2, 50), "pairs").value == 1
    some = number("FMR", "", IntervalEstimate(0.25, 0.1, 0.4, 100, 2), "pairs", note="so")
    assert (some.value, some.low, some.high, some.n, some.note) == (0.25, 0.1, 0.4, 100, "so; only 2 people")
    assert isinstance(some, Number) and some.better == "lower"


# identification


@pytest.mark.parametrize(("similarity", "threshold"), [("cosine", 0.4), ("euclidean", 2.4)])
@pytest.mark.parametrize(("known", "pictures"), [(0.5, 1), (0.3, 2), (0.9, 3)])
def test_a_search_against_every_pair(similarity, threshold, known, pictures):
    made = Made(FACE_IDENTIFICATION, SIZES, missing=(3, 11))
    options = {"threshold": threshold, "similarity": similarity, "known": known, "pictures": pictures}
    result = reduced(FACE_IDENTIFICATION.configured(options), made.samples, made.answers, shards=2, seed=5)
    columns, limit = result.columns, -threshold if similarity == "euclidean" else threshold
    n = range(len(made.people))
    mated = [i for i in n if not np.isnan(columns["identified"][i])]
    strangers = [i for i in n if not np.isnan(columns["false_alarm"][i])]
    gallery = [i for i in n if i not in mated and i not in strangers]
    in_gallery = {made.people[i] for i in gallery}
    enough = [who for who, size in zip(sorted(set(made.people)), SIZES, strict=True) if size > pictures]
    assert len(in_gallery) == min(max(1, round(known * 12)), len(enough)) and in_gallery <= set(enough)
    for who in in_gallery:  # the first pictures of the dataset are in the gallery
        own = [i for i in n if made.people[i] == who]
        assert [i for i in own if i in gallery] == own[:pictures]
    assert {made.people[i] for i in mated} <= in_gallery
    assert {made.people[i] for i in strangers} == set(made.people) - in_gallery
    ranks = {}
    for i in (*mated, *strangers):
        best = {}
        if made.vectors[i] is not None:
            for g in gallery:
                if made.vectors[g] is not None:
                    score = made.score(i, g, similarity)
                    best[made.people[g]] = max(best.get(made.people[g], -np.inf), score)
        order = sorted(best, key=lambda who: -best[who])
        if i in mated:
            rank = order.index(made.people[i]) + 1 if made.people[i] in order else 0
            ranks[i] = rank
            assert columns["rank_1"][i] == (rank == 1)
            assert columns["identified"][i] == (rank == 1 and best[made.people[i]] >= limit)
        else:
            assert columns["false_alarm"][i] == bool(order and best[order[0]] >= limit)
    found = {(one.name, getattr(one, "group", None)): one for one in result.results}
    for k in (1, 5, 10, 20):
        assert (("rank-" + str(k), None) in found) == (k <= len(in_gallery))
    assert found["rank-1", None].value == pytest.approx(np.mean([rank == 1 for rank in ranks.values()]))
    cmc = found["CMC", None].lines[0]
    assert cmc.x[0] == 1 and cmc.x[-1] == min(50, max(2, *ranks.values()))
    assert cmc.y == pytest.approx([np.mean([1 <= rank <= k for rank in ranks.values()]) for k in cmc.x])
    for group in "abc":
        own = [columns["false_alarm"][i] for i in strangers if made.tone[i] == group]
        if own:
            assert rate_of(found["group FPIR", group]) == pytest.approx(np.mean(own))
        own = [1 - columns["identified"][i] for i in mated if made.tone[i] == group]
        if own:
            assert rate_of(found["group FNIR", group]) == pytest.approx(np.mean(own))
    said = f"the gallery holds {len(gallery)} pictures of {len(in_gallery)} people; {len(mated)} probes show one of "
    assert result.notes[1] == f"{said}them, {len(strangers)} show somebody else"
    assert result.notes[2].startswith("2 pictures have no embedding")
    assert f"; {len(in_gallery)} people in the gallery" in found["FPIR", None].meaning


def test_who_is_taken_for_whom():
    """Six strangers of group a, two of b; the gallery has one person of each group, along the axes."""
    axes, turned = np.eye(3), np.array([[0.9, 0.1, 0.0], [0.1, 0.9, 0.0], [0.0, 0.1, 1.0]])
    rows = [("a", "gallery", axes[0]), ("b", "gallery", axes[1])]
    rows += [("a", "", turned[0])] * 3 + [("a", "", turned[1])] * 2 + [("a", "", turned[2])]
    rows += [("b", "", turned[1]), ("b", "", turned[2])]
    samples, answers = [], {}
    for i, (tone, role, vector) in enumerate(rows):
        subject = ct.Subject("0", f"p{i}", attributes={"tone": tone, "role": role or "probe"})
        samples.append(ct.Sample(f"s{i}", BLANK, 4, 4, (subject,)))
        answers[f"s{i}"] = FACE_IDENTIFICATION.check(vector, samples[-1])
    options = {"gallery": "role=gallery", "threshold": 0.5}
    result = reduced(FACE_IDENTIFICATION.configured(options), samples, answers)
    matrix = next(one for one in result.results if one.name == "FPIR by group" and one.attribute == "tone")
    assert np.array(matrix.values) == pytest.approx(np.array([[3 / 6, 2 / 6], [0, 1 / 2]]))
    assert matrix.counts == [[6, 6], [2, 2]]


@pytest.mark.parametrize("rate", [0.1, 0.25])
def test_the_threshold_of_an_fpir_is_the_smallest_that_keeps_it(rate):
    made = Made(FACE_IDENTIFICATION, [4] * 20, seed=2)
    result = reduced(FACE_IDENTIFICATION.configured({"fpir": rate, "known": 0.4}), made.samples, made.answers)
    found = {one.name: one for one in result.results}
    alarms = result.columns["false_alarm"]
    strangers = np.flatnonzero(~np.isnan(alarms))
    assert len(strangers) == 48 and np.nansum(alarms) == int(rate * 48)
    gallery = [i for i in range(80) if np.isnan(alarms[i]) and np.isnan(result.columns["identified"][i])]
    best = sorted((max(made.score(i, g, "cosine") for g in gallery) for i in strangers), reverse=True)
    assert best[int(rate * 48)] < found["threshold"].value <= best[int(rate * 48) - 1] + 1e-9
    assert "insufficient" not in found["FPIR"].note  # 48 × .1 = 4.8 expected alarms
    few = reduced(FACE_IDENTIFICATION.configured({"fpir": 0.05, "known": 0.4}), made.samples, made.answers)
    assert any("insufficient evidence: 48 probes" in getattr(one, "note", "") for one in few.results)
    assert np.isnan(found["FNIR@FPIR=0.01"].value) and np.isfinite(found["FNIR@FPIR=0.1"].value)
    curve = found["FNIR by FPIR"].lines[0]
    assert len(curve.x) == 41 and curve.x[0] == pytest.approx(1 / 48) and curve.x[-1] == pytest.approx(1)
    assert curve.y == sorted(curve.y, reverse=True)


def test_without_strangers_a_threshold_must_be_given():
    made = Made(FACE_IDENTIFICATION, [3, 3])
    for sample in made.samples:
        sample.subjects[0].attributes["role"] = "gallery" if sample.id in ("s0", "s1", "s2", "s3") else "probe"
    with pytest.raises(ct.InputError, match="no probe shows a person outside the gallery"):
        reduced(FACE_IDENTIFICATION.configured({"gallery": "role=gallery"}), made.samples, made.answers)
    for gallery, message in (("rule=a", "no attribute 'rule'"), ("role=z", "there are gallery, probe")):
        with pytest.raises(ct.InputError, match=message):
            reduced(FACE_IDENTIFICATION.configured({"gallery": gallery}), made.samples, made.answers)
