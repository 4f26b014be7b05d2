"""Results of verification and identification, number by number: curves, intervals and notes."""

import numpy as np
import pytest
from tests.tasks.test_pairs_by_hand import SIZES, Made, found_by, rate_of
from tests.tasks.test_rows_by_hand import scene

import countenance as ct
from countenance.metrics.identification import open_set_curve
from countenance.metrics.intervals import clustered_rate, correlation
from countenance.metrics.pairs import comparisons, tail
from countenance.metrics.pairs.comparisons import Comparisons
from countenance.metrics.pairs.curves import Curves
from countenance.metrics.pairs.vectors import Vectors
from countenance.tasks import identification_results as identified
from countenance.tasks import verification_results as verified
from countenance.tasks.face_identification import FACE_IDENTIFICATION
from countenance.tasks.face_verification import FACE_VERIFICATION
from countenance.testing import reduced

# verification


def compared_of(made, similarity="cosine"):
    """The comparisons of all pictures, sorted by person."""
    order = np.argsort(made.people, kind="stable")
    _, identity = np.unique(np.array(made.people)[order], return_inverse=True)
    return Comparisons.of(Vectors.of(np.array(made.vectors)[order], similarity), identity, seed=5)


@pytest.mark.parametrize("similarity", ["cosine", "euclidean"])
def test_curves_of_verification_have_their_bands(similarity):
    made = Made(FACE_VERIFICATION, SIZES, seed=8)
    _, found = found_by(made, {"fmr": 0.05, "similarity": similarity})
    curves = Curves(compared_of(made, similarity), 5)
    genuine = len(made.pairs(similarity)[0])
    det, roc = found["DET", None, None], found["ROC", None, None]
    assert det.marks == roc.marks == [0.05] and det.x.log and det.y.log and roc.x.log and not roc.y.log
    (line,) = det.lines
    seen = curves.det.value > 0
    assert line.x == pytest.approx(curves.grid) and seen.any() and not seen.all()
    assert line.y == pytest.approx(np.where(seen, curves.det.value, min(3 / genuine, curves.det.value[seen].min())))
    assert line.low == pytest.approx(np.where(seen, curves.det.low, 0))
    assert line.high == pytest.approx(np.where(seen, curves.det.high, np.maximum(curves.det.high, 3 / genuine)))
    bound = f"3 / {genuine} or the lowest rate seen"
    assert det.note == roc.note == f"where no genuine pair was refused the curve is at its bound, {bound}"
    (line,) = roc.lines
    assert line.y == pytest.approx(1 - curves.det.value)
    assert line.low == pytest.approx(1 - curves.det.high) and line.high == pytest.approx(1 - curves.det.low)
    eer = curves.equal_error()
    shown = found["EER", None, None]
    assert (shown.value, shown.low, shown.high) == pytest.approx((eer.value, eer.low, eer.high))
    assert shown.note == "only 12 people" and shown.n == genuine
    unit = {"cosine": "cosine similarity", "euclidean": "distance"}[similarity]
    threshold = found["threshold", None, None]
    assert threshold.unit == unit and threshold.n == len(made.pairs(similarity)[1])
    assert found["mated scores", None, None].x.label == unit
    assert found["mated scores", None, None].marks == [threshold.value]


def test_a_threshold_that_is_given_is_marked_nowhere():
    made = Made(FACE_VERIFICATION, SIZES, seed=8)
    _, found = found_by(made, {"threshold": 0.3})
    assert found["DET", None, None].marks == [] and found["threshold", None, None].note == ""


def test_curves_beyond_the_pairs_kept_say_so(monkeypatch):
    monkeypatch.setattr(tail, "EXACT", 0)
    monkeypatch.setattr(comparisons, "LEAST_KEPT", 100)
    monkeypatch.setattr(comparisons, "MOST_KEPT", 200)
    made = Made(FACE_VERIFICATION, [6] * 24, seed=1)
    _, found = found_by(made, {"fmr": 0.001})
    compared = compared_of(made)
    assert not compared.tail.whole
    share = len(compared.tail.score) / compared.impostors
    assert f"beyond an FMR of {share:.1g} it is from a fine histogram" in found["DET", None, None].note
    assert found["FNMR@FMR=0.1", None, None].note == "the threshold is an edge of a fine histogram"
    assert found["FNMR@FMR=0.001", None, None].note == ""


def test_without_a_genuine_pair_there_is_no_fnmr():
    made = Made(FACE_VERIFICATION, [1] * 12)
    result, found = found_by(made, {"threshold": 0.5})
    assert ("DET", None, None) not in found and ("mated scores", None, None) not in found
    assert np.isnan(found["FNMR", None, None].value) and np.isnan(found["FNMR@FMR=0.1", None, None].value)
    assert result.notes[1].startswith("no genuine pair: nobody has two pictures")
    assert len(result.notes) == 2


def test_people_of_unknown_groups_are_counted():
    made = Made(FACE_VERIFICATION, SIZES)
    for i in (0, 3, 5):
        made.samples[i].subjects[0].attributes["tone"] = None
    _, found = found_by(made, {"threshold": 0.3})
    assert found["FMR by group", None, "tone"].note == "3 pictures of unknown tone are left out"
    assert found_by(Made(FACE_VERIFICATION, SIZES), {"threshold": 0.3})[1]["FMR by group", None, "tone"].note == ""


def test_genuine_pairs_that_were_drawn_are_told(monkeypatch):
    monkeypatch.setattr("countenance.metrics.pairs.genuine.genuine_pairs.__kwdefaults__", {"seed": 0, "most": 5})
    made = Made(FACE_VERIFICATION, SIZES)
    result, _ = found_by(made, {"threshold": 0.3})
    assert any(note.startswith("of 6 people with very many pictures only some genuine pairs") for note in result.notes)


def test_failures_to_enrol_by_hand():
    made = Made(FACE_VERIFICATION, SIZES, missing=(0, 2, 7, 20))
    _, found = found_by(made, {"threshold": 0.35})
    failed = np.array([vector is None for vector in made.vectors])
    codes = np.unique(made.people, return_inverse=True)[1]

    def table(member):
        errors = [failed[member & (codes == k)].sum() for k in range(12)]
        return np.array(errors, float), np.array([(member & (codes == k)).sum() for k in range(12)], float)

    tone = np.array(made.tone)
    icc = correlation([table(tone == name) for name in "abc"])
    for key, estimate in [(("failure to enrol", None, None), clustered_rate(*table(np.ones(len(failed), bool))))] + [
        (("group failure to enrol", name, "tone"), clustered_rate(*table(tone == name), icc=icc)) for name in "abc"
    ]:
        shown = found[key]
        assert shown.n == estimate.n and rate_of(shown) == pytest.approx(estimate.value)
        assert shown.high == pytest.approx(max(estimate.high, 3 / estimate.n) if shown.bound else estimate.high)


def test_a_sample_of_scores_is_said_to_be_one():
    vectors = Vectors.of(np.random.default_rng(0).normal(size=(40, 6)))
    compared = Comparisons.of(vectors, np.repeat(np.arange(20), 2))
    how = verified.Operating.of(vectors, 0.5, "given")
    scores = [verified.impostor_scores(compared, np.arange(40) < n, most=100) for n in (40, 6)]
    edges = np.linspace(-1, 1, 11)
    curve = verified._histogram(vectors, "n", "w", ["all", "few"], scores, edges, None, how)
    assert curve.note == "from 100 pairs drawn by the seed"
    assert verified._histogram(vectors, "n", "w", ["few"], scores[1:], edges, None, how).note == ""
    assert [len(line.x) for line in curve.lines] == [10, 10]
    for line, one in zip(curve.lines, scores, strict=True):
        assert line.y == pytest.approx(np.histogram(one.score, edges, density=True)[0])


def test_scores_that_are_all_the_same_have_a_histogram_and_no_shift():
    made = Made(FACE_VERIFICATION, [2] * 6)
    for sample in made.samples:
        made.answers[sample.id] = FACE_VERIFICATION.check([1.0, 0.0], sample)
    _, found = found_by(made, {"threshold": 0.5})
    (line,) = found["mated scores", None, None].lines
    assert line.x[0] == pytest.approx(1) and np.nansum(line.y) > 0
    assert np.isnan(found["shift of mated scores", "a", "tone"].value)


@pytest.mark.parametrize(("count", "said"), [(2999, True), (3000, False)])
def test_evidence_is_sufficient_from_three_cases_on(count, said):
    assert bool(verified.too_few(count, 0.001)) is said


# identification


def probes_of(made, options):
    task = FACE_IDENTIFICATION.configured(options)
    result = reduced(task, made.samples, made.answers, shards=2, seed=5)
    return result, {
        (one.name, getattr(one, "group", None), getattr(one, "attribute", None)): one for one in result.results
    }


def sums(errors, chosen, codes):
    return (
        np.bincount(codes[chosen], errors[chosen], minlength=codes.max() + 1).astype(float),
        np.bincount(codes[chosen], minlength=codes.max() + 1).astype(float),
    )


@pytest.mark.parametrize("similarity", ["cosine", "euclidean"])
def test_rates_of_identification_with_their_intervals(similarity):
    made = Made(FACE_IDENTIFICATION, [4] * 24, noise=1.1, seed=3)
    result, found = probes_of(made, {"fpir": 0.1, "known": 0.4, "similarity": similarity})
    codes = np.unique(made.people, return_inverse=True)[1]
    columns = result.columns
    mated, stranger = ~np.isnan(columns["identified"]), ~np.isnan(columns["false_alarm"])
    missed, alarm = 1 - columns["identified"], columns["false_alarm"]
    tone = np.array(made.tone)
    for name, errors, chosen in (("FPIR", alarm, stranger), ("FNIR", missed, mated)):
        estimate = clustered_rate(*sums(errors, chosen, codes))
        shown = found[name, None, None]
        assert (shown.value, shown.low, shown.high, shown.n) == pytest.approx(estimate[:4])
        icc = correlation([sums(errors, chosen & (tone == group), codes) for group in "abc"])
        for group in "abc":
            estimate = clustered_rate(*sums(errors, chosen & (tone == group), codes), icc=icc)
            shown = found[f"group {name}", group, "tone"]
            assert shown.n == estimate.n and rate_of(shown) == pytest.approx(estimate.value)
            assert shown.low == pytest.approx(estimate.low) or shown.bound
    rank_1 = clustered_rate(*sums(columns["rank_1"], mated, codes))
    shown = found["rank-1", None, None]
    assert (shown.value, shown.low, shown.high) == pytest.approx(rank_1[:3]) and shown.better == "higher"
    (line,) = found["CMC", None, None].lines
    assert (line.y[0], line.low[0], line.high[0]) == pytest.approx(rank_1[:3])
    unit = {"cosine": "cosine similarity", "euclidean": "distance"}[similarity]
    assert found["threshold", None, None].unit == unit
    assert found["FNIR by FPIR", None, None].marks == [0.1]
    axes = found["FNIR by FPIR", None, None]
    assert axes.x.log and axes.y.log and not found["CMC", None, None].x.log


def test_the_curve_of_identification_is_at_its_bound_where_nobody_is_missed():
    made = Made(FACE_IDENTIFICATION, [4] * 20, noise=0.45, seed=3)
    result, found = probes_of(made, {"fpir": 0.2, "known": 0.5})
    codes = np.unique(made.people, return_inverse=True)[1]
    mated, stranger = (~np.isnan(result.columns[name]) for name in ("identified", "false_alarm"))
    gallery = np.flatnonzero(~mated & ~stranger)
    best = np.array([[made.score(i, g, "cosine") for g in gallery] for i in range(80)])
    own = np.array(
        [
            made.score(i, next(g for g in gallery if codes[g] == codes[i]), "cosine") if mated[i] else -np.inf
            for i in range(80)
        ]
    )
    hit = np.where(own >= best.max(axis=1), own, -np.inf)
    grid = np.geomspace(1 / stranger.sum(), 1, 41)
    band = open_set_curve(hit[mated], codes[mated], best.max(axis=1)[stranger], codes[stranger], grid, seed=5)
    curve, (line,) = found["FNIR by FPIR", None, None], found["FNIR by FPIR", None, None].lines
    seen, least = band.value > 0, 3 / mated.sum()
    assert seen.any() and not seen.all() and curve.note.startswith("where nobody was missed")
    assert line.x == pytest.approx(grid) and line.y == pytest.approx(np.where(seen, band.value, least))
    assert line.low == pytest.approx(np.where(seen, band.low, 0))
    assert line.high == pytest.approx(np.where(seen, band.high, np.maximum(band.high, least)))
    one = open_set_curve(hit[mated], codes[mated], best.max(axis=1)[stranger], codes[stranger], np.array([0.1]), seed=5)
    shown = found["FNIR@FPIR=0.1", None, None]
    assert rate_of(shown) == pytest.approx(float(one.value[0])) and shown.n == mated.sum()
    assert shown.note == "only 10 people"


def test_a_person_of_the_gallery_has_the_groups_of_their_gallery_pictures():
    rows = [("p", "a", "gallery"), ("p", "b", "probe"), ("q", "a", "probe"), ("q", "b", "probe")]
    samples = [
        scene(f"s{k}", ct.Subject("0", who, attributes={"tone": tone, "role": role}))
        for k, (who, tone, role) in enumerate(rows)
    ]
    answers = {one.id: FACE_IDENTIFICATION.check([1.0, 0.0], one) for one in samples}
    task = FACE_IDENTIFICATION.configured({"gallery": "role=gallery", "threshold": 0.5})
    matrix = next(
        one
        for one in reduced(task, samples, answers).results
        if one.name == "FPIR by group" and one.attribute == "tone"
    )
    assert matrix.values == [[1, 0], [1, 0]] and matrix.counts == [[1, 1], [1, 1]]


def test_one_stranger_is_one_point():
    made = Made(FACE_IDENTIFICATION, [3, 3, 1])
    for sample, who in zip(made.samples, made.people, strict=True):
        first = made.people.index(who) == int(sample.id[1:])
        sample.subjects[0].attributes["role"] = "gallery" if first and who != "p02" else "probe"
    _, found = probes_of(made, {"gallery": "role=gallery", "threshold": 0.5})
    assert found["FNIR by FPIR", None, None].lines[0].x == [1]
    assert found["FNIR by FPIR", None, None].marks == []
    assert np.isnan(found["FNIR@FPIR=0.1", None, None].value)
    assert found["FNIR@FPIR=0.1", None, None].note.startswith("insufficient evidence: 1 probes of unknown people")


def test_two_strangers_are_a_curve():
    made = Made(FACE_IDENTIFICATION, [3, 3, 1, 1])
    for sample, who in zip(made.samples, made.people, strict=True):
        first = made.people.index(who) == int(sample.id[1:])
        sample.subjects[0].attributes["role"] = "gallery" if first and who in ("p00", "p01") else "probe"
    _, found = probes_of(made, {"gallery": "role=gallery", "threshold": 0.5})
    assert found["FNIR by FPIR", None, None].lines[0].x == pytest.approx(np.geomspace(0.5, 1, 41))


def test_strangers_alone_and_known_people_alone():
    made = Made(FACE_IDENTIFICATION, [3, 3, 3])
    for sample, who in zip(made.samples, made.people, strict=True):
        sample.subjects[0].attributes["role"] = "gallery" if who == "p00" else "probe"
    result, found = probes_of(made, {"gallery": "role=gallery", "threshold": 0.5})
    assert ("FNIR", None, None) not in found and ("CMC", None, None) not in found and ("FPIR", None, None) in found
    for sample, who in zip(made.samples, made.people, strict=True):
        first = made.people.index(who) == int(sample.id[1:])
        sample.subjects[0].attributes["role"] = "gallery" if first else "probe"
    result, found = probes_of(made, {"gallery": "role=gallery", "threshold": 0.5})
    assert ("FPIR", None, None) not in found and ("CMC", None, None) in found and ("rank-1", None, None) in found
    assert ("FNIR by FPIR", None, None) not in found and ("rank-5", None, None) not in found
    for sample in made.samples:
        sample.subjects[0].attributes["role"] = "gallery"
    result, _ = probes_of(made, {"gallery": "role=gallery", "threshold": 0.5})
    assert result.notes == ["nothing was searched: no gallery picture has an embedding, or there is no probe"]


@pytest.mark.parametrize(("strangers", "few"), [(29, True), (30, False)])
def test_a_rate_of_identification_needs_three_expected_alarms(strangers, few):
    made = Made(FACE_IDENTIFICATION, [2] + [1] * strangers)
    for sample, who in zip(made.samples, made.people, strict=True):
        first = made.people.index(who) == int(sample.id[1:])
        sample.subjects[0].attributes["role"] = "gallery" if first and who == "p00" else "probe"
    _, found = probes_of(made, {"gallery": "role=gallery", "fpir": 0.1})
    note = f"insufficient evidence: {strangers} probes of unknown people, fewer than 3 / 0.1"
    assert (note in found["threshold", None, None].note) is few
    assert np.isnan(found["FNIR@FPIR=0.1", None, None].value) is np.bool_(few)
    assert np.isnan(found["FNIR@FPIR=0.01", None, None].value)


def test_ranks_and_rates_that_are_shown():
    assert identified.RANKS == (1, 5, 10, 20) and identified.RATES == (0.1, 0.01, 0.001)
    assert verified.RATES == (0.1, 0.01, 0.001, 1e-4, 1e-5, 1e-6)
    made = Made(FACE_IDENTIFICATION, [2] * 110, noise=3)
    _, found = probes_of(made, {"known": 0.9, "threshold": 0.5})
    assert len(found["CMC", None, None].lines[0].x) == 50


# drawn people


def test_people_of_a_calibration_and_of_a_gallery_are_drawn_by_the_seed():
    made = Made(FACE_VERIFICATION, [2] * 20)
    names = np.unique(made.people)
    result, _ = found_by(made, {"calibration": "0.3", "fmr": 0.05})
    drawn = set(names[np.random.default_rng([5, 7]).permutation(20)[:6]].tolist())
    apart = np.isnan(result.columns["impostor_accepted"])
    assert {who for who, out in zip(made.people, apart, strict=True) if out} == drawn
    result, _ = probes_of(made, {"known": 0.3, "threshold": 0.5})
    drawn = set(names[np.random.default_rng([5, 9]).permutation(20)[:6]].tolist())
    assert {
        who for who, value in zip(made.people, result.columns["identified"], strict=True) if not np.isnan(value)
    } == drawn
