"""The validation rate, thresholds of other runs, embeddings, and results of pictures, boxes, words and ages."""

import json
import math

import numpy as np
import pytest
from tests.naive import average_precision
from tests.tasks.test_pairs_by_hand import SIZES, Made, found_by
from tests.tasks.test_rows_by_hand import BLANK, scene

import countenance as ct
from countenance.data.vocabulary import AGE_GROUPS, age_group
from countenance.metrics.intervals import clustered_mean, macro_mean
from countenance.metrics.pairs.groups import Groups
from countenance.metrics.readings import Reading
from countenance.metrics.verification import accepted_shares, validation_rate
from countenance.metrics.verification_bands import roc_bands
from countenance.metrics.verification_strict import draw_pairs, rates_of_pairs
from countenance.tasks.age_estimation import AGE_ESTIMATION
from countenance.tasks.attributes import ATTRIBUTES
from countenance.tasks.box_notes import FACES, Readings, boxed_scenes
from countenance.tasks.embeddings import to_embedding
from countenance.tasks.face_encoding import FACE_ENCODING, picture_scores
from countenance.tasks.face_localization import FACE_LOCALIZATION
from countenance.tasks.face_parsing import FACE_PARSING
from countenance.tasks.face_super_resolution import FACE_SUPER_RESOLUTION
from countenance.tasks.face_verification import FACE_VERIFICATION
from countenance.tasks.localization import overlap_curve
from countenance.tasks.person_localization import PERSON_LOCALIZATION
from countenance.tasks.reduce import Shard
from countenance.tasks.stored_threshold import threshold_of
from countenance.tasks.validation_rate import Pictures
from countenance.testing import reduced

# the validation rate


def pictures(seed=0):
    random = np.random.default_rng(seed)
    people = np.repeat([f"p{k:02d}" for k in range(12)], 4)
    vectors = np.repeat(random.normal(size=(12, 8)), 4, axis=0) + 0.8 * random.normal(size=(48, 8))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    vectors[[5, 40]] = np.nan
    return Pictures(vectors, people)


def test_the_validation_rate_of_everybody_and_of_groups():
    made = pictures()
    tone = ["ab"[k % 2] for k in range(48)]
    groups = {"tone": Groups.of([(name,) for name in tone], ["a", "b"])}
    there = [k for k in range(48) if k not in (5, 40)]
    assert made.embedded.tolist() == there
    numbers = made.by_group(groups)
    assert [(one.name, one.attribute, one.group) for one in numbers] == [
        ("VAL", None, None),
        ("VAL", "tone", "a"),
        ("VAL", "tone", "b"),
    ]
    for one in numbers:
        rows = [k for k in there if one.group in (None, tone[k])]
        code = np.unique(made.people[rows], return_inverse=True)[1]
        expected = validation_rate(made.vectors[rows], code)
        assert (one.value, one.low, one.high, one.n) == (expected.val, expected.low, expected.high, len(rows))
        assert one.note == "insufficient evidence: fewer than 3,000 different pairs" and one.better == "higher"
    entry = made.entry(np.arange(48))
    whole = validation_rate(made.vectors[there], np.unique(made.people[there], return_inverse=True)[1])
    assert entry["VAL"] == whole.val and entry["EER"] == whole.eer and entry["Class_Size"] == 46
    assert entry["Same / Different Pairs"] == f"{whole.same_pairs}/{whole.different_pairs}"
    assert (entry["FAR"], entry["Threshold"], entry["Identities"]) == (whole.far, whole.threshold, 12)
    assert (entry["VAL_Low"], entry["VAL_High"]) == (whole.low, whole.high)
    assert entry["Evidence"] == "insufficient evidence"


@pytest.mark.parametrize("rows", [[], [0], [0, 1, 2], [0, 4, 8], [5, 6], [5, 40]])
def test_without_both_kinds_of_pairs_there_is_no_validation_rate(rows):
    made = pictures()
    assert made.rate(np.array(rows, dtype=np.intp)) is None and made.entry(np.array(rows, dtype=np.intp)) is None
    assert made.number(np.array(rows, dtype=np.intp)) is None
    assert made.rate(np.array([0, 1, 4])) is not None


def test_the_validation_rate_as_published():
    made = pictures()
    keys = [f"k{k:02d}" for k in range(48)]
    rows = np.array([0, 1, 2, 8, 9, 12, 13, 16])  # one picture of the last person: left out
    found = made.published(rows, keys)
    kept = rows[:-1]
    same, different = draw_pairs([keys[k] for k in kept], made.people[kept].tolist())
    val, deviation, far, folds = rates_of_pairs(made.vectors[kept], same, different)
    assert found == {
        "VAL": round(val, 2),
        "VAL_Error": round(deviation, 2),
        "Class_Size": 7,
        "Identities": 3,
        "Same / Different Pairs": f"{len(same)}/{len(different)}",
        "_unrounded": {"VAL": val, "VAL_Error": deviation, "FAR": far, "folds": folds},
    }
    for few in ([], [0], [0, 1], [0, 1, 4]):
        assert made.published(np.array(few, dtype=np.intp), keys) is None
    assert made.published(np.array([0, 1, 4, 6]), keys)["Identities"] == 2


def test_the_roc_and_the_shares_of_each_picture():
    made = pictures()
    (val, eer, roc), columns = made.overall()
    rows = made.embedded
    code = np.unique(made.people[rows], return_inverse=True)[1]
    bands, whole = roc_bands(made.vectors[rows], code), validation_rate(made.vectors[rows], code)
    assert (val.value, eer.value, eer.low, eer.high) == (whole.val, whole.eer, bands.eer_low, bands.eer_high)
    (line,) = roc.lines
    assert (line.x, line.y, line.low, line.high) == tuple(one.tolist() for one in bands[3:])
    assert roc.marks == [0.001] and roc.x.log and not roc.y.log and eer.n == 46
    for name, share in zip(
        ("genuine_accepted", "impostor_accepted"),
        accepted_shares(made.vectors[rows], code, whole.threshold),
        strict=True,
    ):
        assert np.array_equal(columns[name][rows], share, equal_nan=True) and np.isnan(columns[name][[5, 40]]).all()
    assert Pictures(made.vectors[:3], made.people[:3]).overall() == ([], {})


def test_verification_may_add_the_validation_rate():
    made = Made(FACE_VERIFICATION, SIZES, missing=(3,))
    _, found = found_by(made, {"threshold": 0.3, "validation_rate": True})
    there = [k for k in range(len(made.people)) if k != 3]
    vectors = np.array([made.vectors[k] / np.linalg.norm(made.vectors[k]) for k in there])
    code = np.unique(np.array(made.people)[there], return_inverse=True)[1]
    assert found["VAL", None, None].value == pytest.approx(validation_rate(vectors, code).val)
    assert found["VAL", "a", "tone"].n == sum(made.tone[k] == "a" for k in there)
    assert ("VAL", None, None) not in found_by(made, {"threshold": 0.3})[1]


# the threshold of another run


def stored(folder, results, options):
    folder.mkdir(exist_ok=True)
    (folder / "results.json").write_text(results)
    (folder / "run.json").write_text(json.dumps({"options": options}))
    return str(folder)


def test_the_threshold_of_another_run(tmp_path):
    some = '[{"type": "number", "name": "%s", "value": 0.25}]'
    run = stored(tmp_path / "a", some % "threshold", {"similarity": "cosine"})
    assert threshold_of(run, "cosine") == 0.25
    with pytest.raises(ct.InputError, match="its threshold is of cosine similarity, this run's is euclidean"):
        threshold_of(run, "euclidean")
    assert threshold_of(stored(tmp_path / "b", some % "threshold", None), "euclidean") == 0.25
    with pytest.raises(ct.InputError, match="its results hold no threshold"):
        threshold_of(stored(tmp_path / "c", some % "EER", {}), "cosine")
    with pytest.raises(ct.InputError, match="its results cannot be read"):
        threshold_of(stored(tmp_path / "d", "[", {}), "cosine")
    with pytest.raises(ct.InputError, match="no finished run of face_verification here"):
        threshold_of(str(tmp_path / "e"), "cosine")
    task = FACE_VERIFICATION.configured({"threshold_from": run})
    assert task.options.threshold == 0.25 and task.options.threshold_from == "a"
    with pytest.raises(ct.InputError, match="its threshold is of cosine similarity, this run's is euclidean"):
        FACE_VERIFICATION.configured({"threshold_from": run, "similarity": "euclidean"})
    made = Made(FACE_VERIFICATION, SIZES)
    assert "taken over from a" in found_by(made, {"threshold_from": run})[0].notes[0]


# embeddings


def test_vectors_in_double_precision_stay_so():
    near = [np.array([1.0, 1e-9]), np.array([1.0, 2e-9]), np.array([1.0, 3e-9]), np.array([1.0, -5e-9])]
    samples = [scene(f"s{k}", ct.Subject("0", f"p{k // 2}")) for k in range(4)]
    for options, smallest in (
        ({"similarity": "euclidean", "threshold": 1.5e-9}, 1),
        ({"similarity": "euclidean", "threshold": 0.9e-9}, 0),
    ):
        task = FACE_VERIFICATION.configured(options)
        answers = {f"s{k}": task.check(vector, samples[k]) for k, vector in enumerate(near)}
        result = reduced(task, samples, answers, shards=4)
        assert (result.columns["genuine_accepted"][:2] == smallest).all()
        assert (result.columns["genuine_accepted"][2:] == 0).all()


@pytest.mark.parametrize("raw", [[], [[1.0, 2.0]], 3.0])
def test_what_is_no_embedding(raw):
    with pytest.raises(ValueError, match="expected one vector"):
        to_embedding(raw)
    assert to_embedding({"embeddings": [1, 2]}).vector.tolist() == [1, 2] and to_embedding(None).vector is None


def test_two_people_are_enough_to_compare():
    _, found = found_by(Made(FACE_VERIFICATION, [3, 3]), {"threshold": 0.3})
    assert found["FMR", None, None].n == 9 and found["FNMR", None, None].n == 6


@pytest.mark.parametrize(("vector", "double"), [([0.5, 0.25], 0), ([0.1, 0.2], 1)])
def test_single_precision_is_used_where_it_holds_every_vector(vector, double):
    one = scene("s", ct.Subject("0", "p"))
    state = FACE_VERIFICATION.reduce.partial(Shard([one], {"s": to_embedding(vector)}, None))
    assert state["double"].tolist() == [double] and state["length"].tolist() == [2]


def test_vectors_of_two_lengths_are_refused():
    made = Made(FACE_VERIFICATION, SIZES)
    made.answers["s0"] = FACE_VERIFICATION.check([1.0, 2.0], made.samples[0])
    with pytest.raises(ct.InputError, match=r"embeddings of 2 lengths \(2, 6\), expected one"):
        found_by(made, {})
    two = scene("s", ct.Subject("0", "p"), ct.Subject("1", "q"))
    assert FACE_VERIFICATION.asks(made.samples[0]) and not FACE_VERIFICATION.asks(two)
    assert not FACE_VERIFICATION.asks(scene("s", ct.Subject("0")))


# pictures, boxes, words, ages


def test_pictures_as_published_and_of_other_sizes():
    torch = pytest.importorskip("torch")
    random = np.random.default_rng(0)
    one, two = (random.integers(0, 256, (256, 256, 3)).astype(np.uint8) for _ in range(2))
    threads = torch.get_num_threads()
    assert picture_scores(one, one, compat="strict") == {"PSNR": 80.0, "SSIM": 1.0}
    error = np.mean((one / 255 - two / 255) ** 2)
    found = picture_scores(one, two, ("PSNR",), compat="strict")["PSNR"]
    assert found == pytest.approx(-10 * math.log10(error + 1e-8), abs=2e-5) and np.float32(found) == found
    assert picture_scores(one, two, ("PSNR",))["PSNR"] != found  # double precision by default
    assert torch.get_num_threads() == threads
    sample = ct.Sample("s", ct.ArrayImage(one[:40, :30]), 30, 40, (ct.Subject("0", "p"),))
    with pytest.raises(ValueError, match="a picture of 5×4, the original is 30×40"):
        FACE_SUPER_RESOLUTION.score(sample, FACE_SUPER_RESOLUTION.check(np.zeros((4, 5, 3), np.uint8), sample))
    (row,) = FACE_ENCODING.score(sample, FACE_ENCODING.check(np.zeros((4, 5, 3), np.uint8), sample))
    assert row["m.PSNR"] < 20  # an encoding may be of any size: both are compared at 256 × 256
    assert not FACE_ENCODING.asks(scene("s", ct.Subject("0"), ct.Subject("1")))


def test_the_interval_of_average_precision_is_that_of_200_draws():
    random = np.random.default_rng(1)
    samples, answers = [], {}
    for k in range(20):
        box = np.array([2.0, 2, 22, 22])
        samples.append(scene(f"s{k}", ct.Subject("0", f"p{k}", face_box=box, attributes={"tone": "ab"[k % 2]})))
        boxes = [box + random.normal(0, 4, 4), [40, 40, 50, 50]]
        answers[f"s{k}"] = FACE_LOCALIZATION.check({"boxes": boxes, "scores": random.random(2)}, samples[-1])
    result = reduced(FACE_LOCALIZATION, samples, answers, shards=3, seed=4)
    hit = np.array([FACE_LOCALIZATION.score(s, answers[s.id])[0]["m.recall@0.5"] > 0 for s in samples])
    score = np.concatenate([answers[s.id].scores for s in samples])
    found = np.stack([hit, np.zeros(20, bool)], axis=1).ravel()
    image = np.repeat(np.arange(20), 2)
    kept = [np.ones(40, bool)] + [image % 2 == k for k in range(2)]  # a false alarm is the group's that is beside it
    draws = np.random.default_rng(4)
    values = []
    for _ in range(200):
        times = np.bincount(draws.integers(0, 20, 20), minlength=20)
        people = [times.sum(), times[::2].sum(), times[1::2].sum()]
        often = [np.repeat(np.flatnonzero(own), times[image[own]]) for own in kept]
        values.append([average_precision(score[at], found[at], n) for at, n in zip(often, people, strict=True)])
    spans = np.nanpercentile(values, [2.5, 97.5], axis=0).T
    np.testing.assert_allclose([(one.low, one.high) for one in result.results], spans)


@pytest.mark.parametrize("task", [FACE_LOCALIZATION, PERSON_LOCALIZATION], ids=lambda task: task.name)
def test_an_overlap_of_exactly_the_threshold_counts(task):
    box = np.array([0.0, 0, 10, 10])
    sample = scene("s", ct.Subject("0", "p", face_box=box, person_box=box))
    for height, half, most in ((5.0, 1, 0), (7.5, 1, 1), (4.9, 0, 0)):
        row, image = task.score(sample, task.check([[0, 0, 10, height]], sample))
        assert row["m.recall@0.5"] == half and row.get("m.recall@0.75", most) == most
        assert image["m.false_positives"] == 1 - half


def test_the_overlap_curve_has_a_point_for_each_hundredth():
    at, shares = overlap_curve([0.0, 0.335, 0.5, 1.0])
    assert at == [k / 100 for k in range(101)]
    assert shares == [np.mean(np.array([0.0, 0.335, 0.5, 1.0]) >= level) for level in at]


def test_no_note_where_nothing_is_known_and_where_enough_is_found():
    box = np.array([2.0, 2, 22, 22])
    face, nobody = scene("a", ct.Subject("0", "p", face_box=box)), scene("b")
    assert FACES.notes_on([nobody], {"b": ct.Boxes([box])}, Readings()) == []
    assert FACES.notes_on([], {}, Readings()) == []
    assert FACES.notes_on([face], {}, Readings()) == []
    assert FACES.notes_on([face], {"a": ct.Boxes([box])}, Readings()) == []
    assert FACES.notes_on([face], {"a": ct.Boxes([])}, Readings()) == [
        "no box was predicted in any of the 1 pictures with faces"
    ]


def test_no_note_on_true_boxes_where_most_are_found():
    inside, outside = np.array([2.0, 2, 22, 22]), np.array([2.0, 2, 22, 99])
    samples = [scene(f"s{k}", ct.Subject("0", f"p{k}", face_box=outside if k < 2 else inside)) for k in range(20)]
    for answer, notes in ((inside, 0), (np.array([50.0, 50, 60, 60]), 1)):
        found = FACES.notes_on(samples, {one.id: ct.Boxes([answer]) for one in samples}, Readings())
        assert len(found) == notes and all(note.startswith("10 % of the true boxes") for note in found)


def test_boxes_are_given_with_the_size_of_their_picture():
    box = np.array([10.0, 20, 30, 60])
    wide = ct.Sample("a", BLANK, 200, 100, (ct.Subject("0", "p", face_box=box),))
    shares = Reading("xyxy", "rel")
    (corners,) = boxed_scenes(FACES.true_box, [wide, scene("b")], {"a": ct.Boxes([box]), "b": ct.Boxes([])}).values()
    one = Readings(shares, Reading("xywh", "px")).numbers(corners, wide)
    assert one.predicted.tolist() == [[0.05, 0.2, 0.15, 0.6]] and one.truth.tolist() == [[10, 20, 20, 40]]
    assert (one.width, one.height) == (200, 100)


@pytest.mark.parametrize(("truth", "counted"), [("red", 1), (("red",), 1), (("red", "blue"), 0), (None, 0)])
def test_words_of_one_truth_are_confused_and_those_of_several_are_not(truth, counted):
    people = [
        scene("a", ct.Subject("0", "p", attributes={"hat": truth})),
        scene("b", ct.Subject("0", "q", attributes={"hat": "blue"})),
    ]
    answers = {one.id: ATTRIBUTES.check({"hat": "RED"}, one) for one in people}
    result = reduced(ATTRIBUTES, people, answers)
    confusion = next(one for one in result.results if one.name == "confusion of hat")
    assert np.sum(confusion.counts) == 1 + counted


def test_calibration_of_attributes_by_hand():
    random = np.random.default_rng(2)
    samples, answers, rows = [], {}, []
    for k in range(60):
        truth, said = ("red", "blue")[k % 2], ("red", "blue")[random.integers(2)]
        share = float(random.choice([0.55, 0.7, 0.95, 1.0]))
        chances = None if k % 5 == 0 else {"hat": {said: share}}
        about = {"hat": truth, "tone": "ab"[k % 3 > 0]}
        samples.append(scene(f"s{k}", ct.Subject("0", f"p{k // 2}", attributes=about)))
        answers[f"s{k}"] = ATTRIBUTES.check(ct.Labels({"hat": said}, chances), samples[-1])
        if chances:
            rows.append((share, truth == said, k // 2, "ab"[k % 3 > 0]))
    result = reduced(ATTRIBUTES, samples, answers, seed=3)
    found = {(one.name, getattr(one, "group", None)): one for one in result.results}
    for group in (None, "a", "b"):
        own = [row for row in rows if group in (None, row[3])]
        over = found[("group " if group else "") + "overconfidence in hat", group]
        gaps = np.array([share - hit for share, hit, *_ in own])
        who = np.unique([row[2] for row in own], return_inverse=True)[1]
        estimate = clustered_mean(np.bincount(who, gaps), np.bincount(who).astype(float))
        assert (over.value, over.low, over.high, over.n) == pytest.approx(estimate[:4])
        assert found[("group " if group else "") + "calibration error of hat", group].n == len(own)
    (line,) = next(one for one in result.results if one.name == "calibration of hat" and not one.attribute).lines
    assert line.x == pytest.approx([0.55, 0.7, np.mean([row[0] for row in rows if row[0] > 0.9])])
    assert line.y == pytest.approx(
        [
            np.mean([row[1] for row in rows if low <= row[0] < high])
            for low, high in ((0.5, 0.6), (0.6, 0.8), (0.8, 1.1))
        ]
    )


def test_errors_of_ages_in_cells():
    random = np.random.default_rng(5)
    samples, answers, rows = [], {}, []
    for k in range(40):
        about = {"age": float(random.integers(5, 80)), "gender": ("female", "male", None)[k % 3]}
        samples.append(scene(f"s{k}", ct.Subject("0", None if k % 4 == 0 else f"p{k // 2}", attributes=about)))
        guess = about["age"] + float(random.normal(0, 5))
        answers[f"s{k}"] = AGE_ESTIMATION.check(max(guess, 0.0), samples[-1])
        rows.append((about["gender"] or "", about["age"], max(guess, 0.0) - about["age"], f"p{k // 2}" if k % 4 else k))
    result = reduced(AGE_ESTIMATION, samples, answers)
    found = {(one.name, getattr(one, "group", None)): one for one in result.results}
    matrix = found["MAE by sex and age", None]
    assert matrix.columns == [group for group in AGE_GROUPS if any(age_group(age) == group for _, age, *_ in rows)]
    assert len(matrix.rows) == 3 and matrix.rows[-1] != "" and "everybody" in matrix.rows
    assert np.sum(matrix.counts) == 40
    errors = np.array([abs(error) for *_, error, _ in rows])
    cell = np.unique([f"{sex} {age_group(age)}" for sex, age, *_ in rows], return_inverse=True)[1]
    person = np.unique([str(who) for *_, who in rows], return_inverse=True)[1]
    expected = macro_mean(errors, cell, person)
    shown = found["MAE", None]
    assert (shown.value, shown.low, shown.high) == pytest.approx(expected[:3]) and shown.better == "lower"
    expected = clustered_mean(np.bincount(person, errors), np.bincount(person).astype(float))
    shown = found["MAE over pictures", None]
    assert (shown.value, shown.low, shown.high) == pytest.approx(expected[:3])
    assert found["bias", None].better == ""


def test_a_group_without_children_has_no_curve_of_children():
    people = {"a": (10.0, 30.0), "b": (40.0, 50.0)}
    samples = [
        scene(f"{tone}{age}", ct.Subject("0", f"{tone}{age}", attributes={"age": age, "tone": tone}))
        for tone, some in people.items()
        for age in some
    ]
    answers = {one.id: AGE_ESTIMATION.check(33.0, one) for one in samples}
    curves = {
        (one.name, one.attribute): one
        for one in reduced(AGE_ESTIMATION, samples, answers).results
        if one.type == "curve"
    }
    assert [line.label for line in curves["false positive rate by challenge age", "tone"].lines] == ["a"]
    assert [line.label for line in curves["bias by age", "tone"].lines] == ["a", "b"]
    assert curves["false positive rate by challenge age", None].lines[0].x == list(range(18, 41))


@pytest.mark.parametrize("raw", [{"x": 1}, "text", None])
def test_what_is_no_label_map(raw):
    with pytest.raises(ValueError, match="expected height × width of classes"):
        FACE_PARSING.check(raw, scene("s"))


def test_no_age_at_all():
    samples = [scene(f"s{k}", ct.Subject("0", f"p{k}", attributes={"age": 30.0})) for k in range(3)]
    answers = {one.id: AGE_ESTIMATION.check(None, one) for one in samples}
    assert reduced(AGE_ESTIMATION, samples, answers).notes == ["no age was estimated"]
    assert reduced(AGE_ESTIMATION, samples, answers).results == []
