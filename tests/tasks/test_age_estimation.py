"""Ages: errors in years, macro-averages and the age check, against plain arithmetic."""

import numpy as np
import pandas as pd
import pytest

import countenance as ct
from countenance.data.vocabulary import age_group
from countenance.metrics.intervals import macro_mean
from countenance.tasks.age_estimation import AGE_ESTIMATION
from countenance.testing import reduced


def people(n: int = 240, seed: int = 0):
    random = np.random.default_rng(seed)
    samples, answers, rows = [], {}, []
    for i in range(n):
        who = i // 2
        age = float(np.random.default_rng([seed, who]).integers(3, 90))
        about = {"age": age, "gender": ("female", "male")[who % 2], "skin_tone": "abc"[who % 3]}
        sample = ct.Sample(
            f"s{i}", ct.ArrayImage(np.zeros((4, 4, 3), np.uint8)), 4, 4, (ct.Subject("0", f"p{who}", attributes=about),)
        )
        guess = max(age + random.normal(2, 6), 0.0)
        samples.append(sample)
        answers[sample.id] = AGE_ESTIMATION.check(guess, sample)
        rows.append(about | {"guess": guess, "error": guess - age, "group": age_group(age)})
    return samples, answers, pd.DataFrame(rows)


def named(found, name, group=None):
    return next(one for one in found.results if one.name == name and getattr(one, "group", None) == group)


def test_numbers_are_those_of_plain_arithmetic():
    samples, answers, table = people()
    found = reduced(AGE_ESTIMATION.configured({"challenge_age": 21}), samples, answers)
    cells = table.error.abs().groupby([table.gender, table.group]).mean()
    assert named(found, "MAE").value == pytest.approx(cells.mean(), abs=1e-12)
    assert named(found, "MAE over pictures").value == pytest.approx(table.error.abs().mean(), abs=1e-12)
    assert named(found, "bias").value == pytest.approx(table.error.mean(), abs=1e-12)
    minors, adults = table[table.age < 18], table[table.age >= 18]
    assert named(found, "Challenge-21 false positive rate").value == pytest.approx((minors.guess >= 21).mean())
    assert named(found, "Challenge-21 false negative rate").value == pytest.approx((adults.guess < 21).mean())
    a = table[table.skin_tone == "a"]
    assert named(found, "group bias", "a").value == pytest.approx(a.error.mean())
    assert named(found, "group MAE", "a").value == pytest.approx(
        a.error.abs().groupby([a.gender, a.group]).mean().mean()
    )
    matrix = named(found, "MAE by sex and age")
    assert matrix.rows == ["female", "male"]
    assert np.array(matrix.values) == pytest.approx(cells.unstack()[matrix.columns].to_numpy())
    for one in found.results:
        if one.type == "number":
            assert one.low <= one.value <= one.high


def test_rows_say_what_happened_to_each_picture():
    samples, _, table = people(4)
    task = AGE_ESTIMATION.configured({"challenge_age": 30})
    (row,) = task.score(samples[0], task.check(table.age[0] + 2, samples[0]))
    assert row["m.absolute_error"] == 2 and row["m.error"] == 2
    assert (row["m.minor_passed"] is None) == (table.age[0] >= 18)
    (none,) = task.score(samples[0], task.check(None, samples[0]))
    assert none["m.estimated"] == 0 and none["m.absolute_error"] is None


def test_a_distribution_is_read_as_its_mean():
    samples, *_ = people(1)
    shares = np.zeros(100)
    shares[[20, 40]] = 0.5
    assert AGE_ESTIMATION.check(shares, samples[0]).years == 30
    with pytest.raises(ValueError, match="sum 1"):
        AGE_ESTIMATION.check([0.2, 0.2], samples[0])
    with pytest.raises(ValueError, match="expected 0 to 150"):
        AGE_ESTIMATION.check(400, samples[0])


@pytest.mark.parametrize("options", [{"challenge_age": 10}, {"challenge_age": -1}, {"challenge": 25}])
def test_options_that_make_no_sense_are_refused(options):
    with pytest.raises(ct.InputError):
        AGE_ESTIMATION.configured(options)


def test_no_child_and_no_sex_are_said():
    samples, answers = [], {}
    for i in range(30):
        subject = ct.Subject("0", f"p{i}", attributes={"age": 30.0 + i})
        samples.append(ct.Sample(f"s{i}", ct.ArrayImage(np.zeros((4, 4, 3), np.uint8)), 4, 4, (subject,)))
        answers[f"s{i}"] = AGE_ESTIMATION.check(31.0 + i, samples[-1])
    found = reduced(AGE_ESTIMATION, samples, answers)
    assert any("nobody is under 18" in note for note in found.notes)
    assert any("no attribute 'gender'" in note for note in found.notes)
    assert not any("false positive" in one.name for one in found.results)


def test_the_macro_interval_covers_its_mean():
    covered = 0
    for seed in range(200):
        random = np.random.default_rng(seed)
        cell = np.repeat(random.integers(0, 4, 100), 3)
        person = np.repeat(np.arange(100), 3)
        values = cell + np.repeat(random.normal(0, 1, 100), 3) + random.normal(0, 1, 300)
        found = macro_mean(values, cell, person)
        covered += found.low <= 1.5 <= found.high
    assert 180 <= covered <= 200


def test_saved_ages_are_read_from_a_table(tmp_path):
    samples, _, table = people(60)
    file = tmp_path / "ages.csv"
    pd.DataFrame({"image": [s.id for s in samples], "age": table.guess}).to_csv(file, index=False)
    data = ct.Dataset(ct.DatasetCard(name="made"), samples)
    run = ct.evaluate(f"predictions:{file}", "age_estimation", data, out=tmp_path / "run")
    assert np.nanmean(run.scores().to_pandas()["m.error"]) == pytest.approx(table.error.mean())
    assert "MAE" in {one.name for one in run.results()}
