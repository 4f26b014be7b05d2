"""Score rows and results of the other tasks against slow, plain computations."""

import itertools

import numpy as np
import pytest
from skimage.metrics import peak_signal_noise_ratio
from sklearn.metrics import f1_score

import countenance as ct
from countenance.data.vocabulary import FACE_LABELS, KEYPOINTS
from countenance.metrics.keypoints import COCO_SIGMAS
from countenance.tasks.age_estimation import AGE_ESTIMATION
from countenance.tasks.attributes import ATTRIBUTES, Context, notes
from countenance.tasks.body_parts_detection import BODY_PARTS_DETECTION
from countenance.tasks.face_encoding import FACE_ENCODING, at_256, picture_scores
from countenance.tasks.face_localization import FACE_LOCALIZATION, to_boxes
from countenance.tasks.face_parsing import FACE_PARSING
from countenance.tasks.keypoint_estimation import KEYPOINT_ESTIMATION
from countenance.tasks.person_localization import PERSON_LOCALIZATION
from countenance.tasks.results import Number
from countenance.tasks.thresholds import EXACT, PUBLISHED, threshold_levels
from countenance.testing import reduced

BLANK = ct.ArrayImage(np.zeros((64, 64, 3), np.uint8))
AR = [0.5 + 0.05 * k for k in range(10)]


def scene(name, *subjects, side=64, image=BLANK, **attributes):
    return ct.Sample(name, image, side, side, tuple(subjects), attributes)


def overlap(a, b):
    width = min(a[2], b[2]) - max(a[0], b[0])
    height = min(a[3], b[3]) - max(a[1], b[1])
    both = max(width, 0) * max(height, 0)
    return both / ((a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - both)


# boxes


def random_boxes(random, n):
    start = random.uniform(0, 40, (n, 2))
    return np.hstack([start, start + random.uniform(5, 24, (n, 2))])


def precision_by_hand(images, wanted):
    """COCO's average precision at 0.5 over 101 recalls; true boxes that are not wanted are ignored where hit.

    A false alarm counts by the share of wanted people in its image, and of all people where it shows nobody.
    """
    marked = []
    everybody = [group in wanted for _, groups, _, _ in images for group in groups]
    for truth, groups, boxes, scores in images:
        used = set()
        share = np.mean([group in wanted for group in groups] or everybody)
        for k in sorted(range(len(boxes)), key=lambda k: -scores[k]):
            best, at = max(((overlap(t, boxes[k]), -i) for i, t in enumerate(truth) if i not in used), default=(0, 0))
            if best >= 0.5:
                used.add(-at)
                if groups[-at] in wanted:
                    marked.append((scores[k], 1, 0))
            else:
                marked.append((scores[k], 0, share))
    marked.sort(key=lambda one: -one[0])
    right, wrong = np.cumsum([one[1] for one in marked]), np.cumsum([one[2] for one in marked])
    precision = right / np.maximum(right + wrong, 1e-300)
    recall = right / sum(everybody)
    return np.mean([max(precision[recall >= r - 1e-12], default=0) for r in np.linspace(0, 1, 101)])


@pytest.mark.parametrize("task", [FACE_LOCALIZATION, PERSON_LOCALIZATION], ids=lambda task: task.name)
def test_boxes_against_a_plain_loop(task):
    random = np.random.default_rng(8)
    samples, answers, images = [], {}, []
    for k in range(24):
        truth = random_boxes(random, k % 4)
        tones = ["ab"[int(v)] for v in random.integers(0, 2, len(truth))]
        people = [
            ct.Subject(str(i), f"p{k}-{i}", face_box=box, person_box=box, attributes={"tone": tone})
            for i, (box, tone) in enumerate(zip(truth, tones, strict=True))
        ]
        near = truth + random.normal(0, 2.5, truth.shape)
        boxes = np.concatenate([near[random.random(len(near)) < 0.9], random_boxes(random, k % 3)])
        boxes[:, 2:] = np.maximum(boxes[:, 2:], boxes[:, :2])
        scores = random.permutation(1000)[: len(boxes)] / 1000
        sample = scene(f"s{k}", *people)
        samples.append(sample)
        answers[sample.id] = task.check({"boxes": boxes, "scores": scores}, sample)
        images.append((truth, tones, boxes, scores))
        *rows, image = task.score(sample, answers[sample.id])
        assert len(rows) == len(truth) and image["subject"] is None
        for box, row in zip(truth, rows, strict=True):
            best = max((overlap(box, other) for other in boxes), default=0.0)
            assert row["m.best_iou"] == pytest.approx(best)
            assert row["m.average_recall"] == pytest.approx(np.mean([best >= level for level in AR]))
            assert row["m.recall@0.5"] == (best >= 0.5)
            assert row.get("m.recall@0.75", best >= 0.75) == (best >= 0.75)
        marked, used = 0, set()
        for b in sorted(range(len(boxes)), key=lambda b: -scores[b]):
            free = [(overlap(t, boxes[b]), i) for i, t in enumerate(truth) if i not in used]
            best, i = max(free, default=(0, 0))
            used |= {i} if best >= 0.5 else set()
            marked += best < 0.5
        assert image["m.false_positives"] == marked
        assert image["identity"] == (f"p{k}-0" if len(truth) == 1 else None)
    for shards in (1, 5):
        results = reduced(task, samples, answers, shards).results
        found = {one.group: one for one in results if one.name == "average_precision@0.5"}
        for group, wanted in ((None, "ab"), ("a", "a"), ("b", "b")):
            assert found[group].value == pytest.approx(precision_by_hand(images, wanted), abs=1e-12)
            assert found[group].n == sum(tone in wanted for _, tones, _, _ in images for tone in tones)
            assert found[group].low <= found[group].value <= found[group].high


def test_five_numbers_are_a_box_and_its_score():
    assert to_boxes(np.array([[1, 2, 3, 4, 0.5]])).scores.tolist() == [0.5]
    assert to_boxes(np.array([[1, 2, 3, 4, 0.5]])).xyxy.tolist() == [[1, 2, 3, 4]]
    assert FACE_LOCALIZATION.asks(scene("s")) and not FACE_LOCALIZATION.asks(scene("s", ct.Subject("0")))
    assert PERSON_LOCALIZATION.asks(scene("s")) and not PERSON_LOCALIZATION.asks(scene("s", ct.Subject("0")))


# keypoints


def similarity(truth, points, area):
    shares = []
    for (x, y, seen), (px, py), sigma in zip(truth, points, COCO_SIGMAS, strict=True):
        if seen == 2:
            shares.append(np.exp(-((px - x) ** 2 + (py - y) ** 2) / (2 * area * (2 * sigma) ** 2 + 1e-300)))
    return np.mean(shares) if shares else np.nan


@pytest.mark.parametrize("people", [1, 2, 3])
@pytest.mark.parametrize("predicted", [0, 1, 2, 3])
def test_keypoints_against_a_plain_loop(people, predicted):
    random = np.random.default_rng([people, predicted])
    subjects, truths = [], []
    for i in range(people):
        mask = np.zeros((64, 64), bool)
        mask[10 : 40 + i, 5 : 30 + i] = True
        truth = np.column_stack([random.uniform(5, 60, (17, 2)), random.choice([0, 1, 2, 2, 2], 17)])
        truths.append((truth, mask.sum(), np.hypot(10 + i, 14.0)))
        subjects.append(
            ct.Subject(
                str(i), f"p{i}", keypoints=truth, mask=ct.Rle.encode(mask), face_box=np.array([3.0, 4, 13 + i, 18])
            )
        )
    base = [truths[i % people][0][:, :2] for i in random.permutation(max(people, predicted))[:predicted]]
    points = np.array([one + random.normal(0, 2, (17, 2)) for one in base]).reshape(-1, 17, 2)
    sample = scene("s", *subjects)
    rows = KEYPOINT_ESTIMATION.score(sample, KEYPOINT_ESTIMATION.check(points, sample))
    similar = np.array([[similarity(t, p, area) for p in points] for t, area, _ in truths]).reshape(people, predicted)
    choices = itertools.permutations([*range(predicted), *[None] * people], people)
    best = max(choices, key=lambda chosen: sum(similar[i, k] for i, k in enumerate(chosen) if k is not None))
    for i, (row, (truth, _, diagonal)) in enumerate(zip(rows, truths, strict=True)):
        assert row["m.OKS"] == pytest.approx(max(similar[i], default=0.0))
        assert row["m.AR_OKS"] == pytest.approx(np.mean([max(similar[i], default=0.0) >= level for level in AR]))
        seen = truth[:, 2] == 2
        if best[i] is None:
            assert row["m.PCK"] == 0
            continue
        far = np.hypot(*(points[best[i]] - truth[:, :2]).T)[seen]
        expected = np.mean([np.mean(far <= level * diagonal) for level in np.arange(1, 10) / 10])
        assert row["m.PCK"] == pytest.approx(expected)


def strict_shares(people, predicted):
    """PCK as published: the i-th answer for the i-th person; of one answer everybody has the first one's value."""
    task = KEYPOINT_ESTIMATION.configured({"compat": "strict", "thresholds": {"PCK": [0.5]}})
    box, mask = np.array([0.0, 0, 30, 40]), np.ones((64, 64), bool)  # a diagonal of 50
    subjects = [
        ct.Subject(
            str(i),
            f"p{i}",
            keypoints=np.column_stack([np.full((17, 2), value), np.full(17, 2.0)]),
            mask=ct.Rle.encode(mask),
            face_box=box,
        )
        for i, value in enumerate(people)
    ]
    sample = scene("s", *subjects)
    points = np.array([np.full((17, 2), value) for value in predicted], dtype=float)
    return [row["m.PCK"] for row in task.score(sample, task.check(points, sample))]


def test_keypoints_as_published_pair_by_order():
    assert strict_shares([0, 50], [50, 0]) == [0, 0] and strict_shares([0, 50], [0, 50]) == [1, 1]
    assert strict_shares([0, 50], [0]) == [1, 1] and strict_shares([0, 50, 50], [50]) == [0, 0, 0]
    assert strict_shares([0, 50, 50], [0, 0]) == [1, 0, 0]


def test_some_keypoints_and_nobody_visible():
    task = KEYPOINT_ESTIMATION.configured({"custom_keypoints": "Nose, Left ear"})
    assert task.options.places == [0, 3] and len(KEYPOINTS) == 17
    truth = np.column_stack([np.full((17, 2), 20.0), np.full(17, 1.0)])
    truth[3, 2] = 2
    subject = ct.Subject(
        "0", "p", keypoints=truth, mask=ct.Rle.encode(np.ones((64, 64), bool)), face_box=np.array([0.0, 0, 3, 4])
    )
    sample = scene("s", subject)
    points = np.zeros((1, 17, 2))
    points[0, 3] = 20
    (row,) = task.score(sample, task.check(points, sample))
    assert row["m.PCK"] == 1 and row["m.OKS"] == 1
    truth[3, 2] = 1
    (row,) = task.score(sample, task.check(points, sample))
    assert "m.PCK" not in row and "m.OKS" not in row
    for wrong in ("Left ear,Nose", "Tail", [], 3):
        with pytest.raises(ct.InputError):
            KEYPOINT_ESTIMATION.configured({"custom_keypoints": wrong})


# parts, label maps, pictures


def test_parts_against_a_plain_loop():
    random = np.random.default_rng(1)
    names, there = ["Face", "Hand", "Foot", "Hair"], {"Face", "Foot"}
    sample = scene("s", ct.Subject("0", "p", body_parts=tuple(there)), ct.Subject("1", "q"))
    for _ in range(20):
        chances = dict(zip(names, random.choice([0.0, 0.3, 0.49, 0.5, 0.55, 0.7, 0.95, 1.0], 4), strict=True))
        (row,) = BODY_PARTS_DETECTION.score(sample, BODY_PARTS_DETECTION.check([chances], sample))
        recall = {name: np.mean([chances[name] >= level - 1e-12 for level in AR]) for name in there}
        right = {name: float((chances[name] >= 0.5) == (name in there)) for name in names}
        assert row["m.AR_DET"] == pytest.approx(np.mean(list(recall.values())))
        assert row["m.ACC_DET"] == pytest.approx(np.mean(list(right.values())))
        assert {n: row[f"m.ACC_DET {n}"] for n in names} == right
        assert {n for n in names if f"m.AR_DET {n}" in row} == there
    assert BODY_PARTS_DETECTION.asks(sample) and not BODY_PARTS_DETECTION.asks(scene("s", ct.Subject("1", "q")))


@pytest.mark.parametrize("ears", [False, True])
def test_label_maps_agree_with_scikit_learn(ears):
    random = np.random.default_rng(2)
    truth = random.choice([0, 1, 2, 13, 17], (64, 64)).astype(np.uint8)
    parts = {FACE_LABELS[label]: ct.Rle.encode(truth == label) for label in (1, 2, 13, 17)}
    sample = scene("s", ct.Subject("0", "p", face_parts=parts))
    said = np.where(random.random((64, 64)) < 0.3, random.integers(0, 19, (64, 64)), truth)
    task = FACE_PARSING.configured({"map_ears_to_skin": True}) if ears else FACE_PARSING
    (row,) = task.score(sample, task.check(said, sample))
    labels = [0, 1, 2, 13, 17]
    counted = np.where((said == 8) | (said == 9), 1, said) if ears else said
    each = f1_score(truth.ravel(), counted.ravel(), labels=labels, average=None)
    assert [row[f"m.F1 {FACE_LABELS[label]}"] for label in labels] == pytest.approx(each)
    assert row["m.F1"] == pytest.approx(each.mean())
    assert FACE_PARSING.check(np.full((64, 64), 18), sample).classes.max() == 18
    for wrong in (np.full((64, 64), 19), np.full((64, 64), -1), np.zeros((64, 64)), np.zeros((1, 64, 64), int)):
        with pytest.raises(ValueError, match="expected"):
            FACE_PARSING.check(wrong, sample)
    assert not FACE_PARSING.asks(scene("s")) and FACE_PARSING.asks(sample)


def test_pictures_agree_with_scikit_image():
    random = np.random.default_rng(3)
    one = random.integers(0, 256, (256, 256, 3)).astype(np.uint8)
    two = np.clip(one + random.normal(0, 9, one.shape), 0, 255).astype(np.uint8)
    found = picture_scores(one, two)
    assert found["PSNR"] == pytest.approx(peak_signal_noise_ratio(one, two), abs=1e-3)
    assert picture_scores(one, two, ("PSNR",)).keys() == {"PSNR"}
    assert picture_scores(one, two, compat="strict")["PSNR"] == pytest.approx(found["PSNR"], abs=1e-4)
    assert at_256(one) is one and at_256(one[:, :100]).shape == (256, 256, 3)
    assert not FACE_ENCODING.asks(scene("s")) and FACE_ENCODING.asks(scene("s", ct.Subject("0")))


# thresholds


def test_the_usual_thresholds():
    for name in ("AR_IOU", "AR_MASK", "AR_OKS", "AR_DET"):
        assert EXACT[name].tolist() == [0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95]
        assert len(PUBLISHED[name]) == 10 and PUBLISHED[name] == pytest.approx(EXACT[name])
    assert EXACT["PCK"].tolist() == [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9]
    assert len(PUBLISHED["PCK"]) == 9 and PUBLISHED["PCK"] == pytest.approx(EXACT["PCK"])
    assert EXACT["ACC_DET"].tolist() == PUBLISHED["ACC_DET"].tolist() == [0.5]
    assert PUBLISHED["AR_IOU"][2] == 0.6000000000000001


@pytest.mark.parametrize("values", [[0], [1], [0.0, 1.0], (0.5,), []])
def test_thresholds_from_0_to_1_are_taken(values):
    assert threshold_levels("AR_IOU", values).tolist() == list(values)


@pytest.mark.parametrize("values", [0.5, [[0.5]], [-0.01], [1.01], [0.5, 2], ["a"], None, [float("nan")]])
def test_other_thresholds_are_refused(values):
    with pytest.raises(ValueError, match="metric AR_IOU: thresholds"):
        threshold_levels("AR_IOU", values)


def test_thresholds_of_a_task():
    task = PERSON_LOCALIZATION.configured({"thresholds": {"AR_IOU": [0.2, 0.9]}})
    sample = scene("s", ct.Subject("0", "p", person_box=np.array([0.0, 0, 10, 10])))
    row, _ = task.score(sample, task.check([[0, 0, 10, 5]], sample))
    assert row["m.average_recall"] == 0.5 and task.options.levels("AR_MASK").tolist() == EXACT["AR_MASK"].tolist()
    assert task.options.named("AR_IOU") == {"0.20": 0.2, "0.90": 0.9}


# ages


@pytest.mark.parametrize(
    ("truth", "guess", "passed", "challenged"),
    [(17, 25, 1, None), (17, 24.9, 0, None), (17.9, 30, 1, None), (18, 25, None, 0), (18, 24.9, None, 1)],
)
def test_the_age_check_of_one_picture(truth, guess, passed, challenged):
    sample = scene("s", ct.Subject("0", "p", attributes={"age": truth}))
    (row,) = AGE_ESTIMATION.score(sample, AGE_ESTIMATION.check(guess, sample))
    assert row["m.minor_passed"] == passed and row["m.adult_challenged"] == challenged
    assert row["m.error"] == pytest.approx(guess - truth) and row["m.estimated"] == 1
    assert row["m.absolute_error"] == pytest.approx(abs(guess - truth))


def test_curves_of_ages():
    ages = {"a": [(4, 1), (9, 3), (10, 5), (17, 12), (25, -4)], "b": [(5, 0), (17, 20), (40, 2), (41, 4), (49, 0)]}
    samples, answers = [], {}
    for tone, some in ages.items():
        for i, (age, error) in enumerate(some):
            subject = ct.Subject("0", f"{tone}{i}", attributes={"age": float(age), "tone": tone})
            samples.append(scene(f"{tone}{i}", subject))
            answers[f"{tone}{i}"] = AGE_ESTIMATION.check(float(age + error), samples[-1])
    samples.append(scene("none", ct.Subject("0", "n", attributes={"age": 30.0, "tone": "a"})))
    answers["none"] = AGE_ESTIMATION.check(None, samples[-1])
    result = reduced(AGE_ESTIMATION.configured({"challenge_age": 20}), samples, answers)
    assert result.notes[0] == "a person passes from an estimated age of 20 years on"
    assert result.notes[1] == "1 picture has no estimated age and is in no error"
    found = {(one.name, one.attribute): one for one in result.results if one.type == "curve"}
    (line,) = found["bias by age", None].lines
    assert (line.x, line.y) == ([5, 15, 25, 45], pytest.approx([4 / 3, 37 / 3, -4, 2]))
    a, b = found["bias by age", "tone"].lines
    assert (a.label, a.x, a.y) == ("a", [5, 15, 25], [2, 8.5, -4])
    assert (b.label, b.x, b.y) == ("b", [5, 15, 45], [0, 20, 2])
    (line,) = found["false positive rate by challenge age", None].lines
    minors = [age + error for some in ages.values() for age, error in some if age < 18]
    assert line.x == list(range(18, 36))
    assert line.y == pytest.approx([np.mean([guess >= year for guess in minors]) for year in line.x])
    assert found["false positive rate by challenge age", None].marks == [20]
    numbers = {(one.name, one.group): one for one in result.results if one.type == "number"}
    assert numbers["group Challenge-20 false positive rate", "a"].value == pytest.approx(1 / 4)
    assert numbers["group Challenge-20 false positive rate", "b"].value == pytest.approx(1 / 2)
    assert numbers["bias", None].note == "only 10 people"


@pytest.mark.parametrize(("raw", "years"), [(31, 31), ([31.5], 31.5), ({"years": 4}, 4), ({"age": None}, "refused")])
def test_the_forms_of_an_age(raw, years):
    sample = scene("s", ct.Subject("0", "p", attributes={"age": 30}))
    if years == "refused":
        with pytest.raises(ValueError, match="expected 'age'"):
            AGE_ESTIMATION.check(raw, sample)
    else:
        assert AGE_ESTIMATION.check(raw, sample).years == years
    two = scene("s", ct.Subject("0", "p", attributes={"age": 30}), ct.Subject("1", "q", attributes={"age": 30}))
    assert AGE_ESTIMATION.asks(sample) and not AGE_ESTIMATION.asks(two)
    assert not AGE_ESTIMATION.asks(scene("s", ct.Subject("0", "p", attributes={"age": "30-40"})))
    with pytest.raises(ct.InputError, match="at least the minimum age of 18"):
        AGE_ESTIMATION.configured({"challenge_age": 17.9})
    assert AGE_ESTIMATION.configured({"challenge_age": 18}).options.challenge_age == 18


# attributes


def told(words, said, most=None):
    samples = [scene(f"s{i}", ct.Subject("0", f"p{i}", attributes={"hat": word})) for i, word in enumerate(words)]
    answers = {f"s{i}": ct.Labels({"hat": word}) for i, word in enumerate(said)}
    return notes(samples, answers, Context.of(samples))


def test_words_that_the_dataset_never_uses_are_counted():
    assert told(["red", "blue"], ["RED", "blue "]) == []
    (one,) = told(["red", "blue"], ["rod", "blue"])
    assert one.startswith("hat: 'rod' was answered once and counted as wrong") and one.endswith("it has blue, red")
    (two,) = told(["red", "blue"], ["green", "green"])
    assert "'green' was answered 2 times" in two
    many = told([f"w{k:02d}" for k in range(13)], [f"z{k}" for k in range(9)] + ["w01"] * 4)
    assert len(many) == 9 and many[-1] == "and 1 more words that the dataset never uses"
    assert many[0].endswith("w10, w11, …")
    assert len(told([f"w{k:02d}" for k in range(12)], [f"z{k}" for k in range(8)] + ["w01"] * 4)) == 8
    assert told([f"w{k:02d}" for k in range(12)], ["z"])[0].endswith("w10, w11")


def test_a_name_that_nobody_has_is_refused_with_those_there_are():
    for n, end in ((12, "a11)"), (13, "a11, …)")):
        sample = scene("s", ct.Subject("0", "p", attributes={f"a{k:02d}": "x" for k in range(n)}))
        with pytest.raises(ValueError, match="which is not an attribute of the people") as caught:
            ATTRIBUTES.check({"smile": "yes"}, sample, Context.of([sample]))
        assert end in str(caught.value)
    with pytest.raises(ValueError, match="names 'a01' twice"):
        ATTRIBUTES.check({"a01": "x", "A01": "x"}, sample, Context.of([sample]))
    assert not ATTRIBUTES.asks(scene("s")) and ATTRIBUTES.asks(sample)


@pytest.mark.parametrize("words", [1, 2, 3, 12, 13])
def test_error_rates_of_each_word(words):
    random = np.random.default_rng(words)
    names = [f"w{k:02d}" for k in range(words)]
    samples, answers, pairs = [], {}, []
    for i in range(8 * words):
        truth, said = names[i % words], names[random.integers(words)]
        samples.append(scene(f"s{i}", ct.Subject("0", f"p{i // 3}", attributes={"hat": truth, "tone": "ab"[i % 2]})))
        answers[f"s{i}"] = ATTRIBUTES.check({"hat": said}, samples[-1])
        pairs.append((truth, said, "ab"[i % 2]))
    result = reduced(ATTRIBUTES, samples, answers)
    found = {(one.name, one.group): one for one in result.results if one.type == "number"}
    judged = names[1:] if words == 2 else names if 2 < words <= 12 else []
    assert {name.split("=")[1] for name, group in found if group is None} == set(judged)
    for word in judged:
        for kind, inside in (("FPR", False), ("FNR", True)):
            own = [(said == word) is not inside for truth, said, _ in pairs if (truth == word) is inside]
            shown = found[f"{kind} hat={word}", None]
            assert shown.n == len(own)
            assert (0 if shown.bound else shown.value) == pytest.approx(np.mean(own))
    assert any(name.startswith("group") for name, _ in found) == (words == 2)
    confusion = next(one for one in result.results if one.name == "confusion of hat")
    for truth, counts, shares in zip(names, confusion.counts, confusion.values, strict=True):
        own = [said for one, said, _ in pairs if one == truth]
        assert counts == [own.count(said) for said in confusion.columns]
        assert shares == pytest.approx([own.count(said) / len(own) for said in confusion.columns])
    table = next(one for one in result.results if one.name == "confusion of hat by tone")
    for group, truth, said, n, share in table.rows:
        own = [other for one, other, tone in pairs if one == truth and tone == group]
        assert n == own.count(said) > 0 and share == pytest.approx(n / len(own))


# results


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0094, "0.0094"), (0.0095, "0.009"), (-0.0001234, "-0.000123"), (0, "0.000"), (1.2345, "1.234")],
)
def test_a_number_as_text(value, text):
    assert Number(name="n", value=value).text() == text
    assert Number(name="n", value=value, bound="<", low=0, high=0.5).text() == f"< {text} [0.000, 0.500]"
