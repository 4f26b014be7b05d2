"""A table with predictions is audited by its truth and predictions; the numbers are those of scikit-learn."""

import csv
import hashlib
from pathlib import Path

import numpy as np
import pytest
from sklearn import metrics as sk
from typer.testing import CliRunner

import countenance as ct
from countenance.auditing.predictions import prediction_columns
from countenance.cli.app import app
from countenance.errors import InputError

RANDOM = np.random.default_rng(7)
N = 600
GROUP = np.array(["a", "b", "c"])[RANDOM.integers(0, 3, N)]
TRUTH = RANDOM.integers(0, 2, N)
SCORE = np.clip(0.35 + 0.3 * TRUTH + RANDOM.normal(0, 0.2, N) - 0.1 * (GROUP == "b"), 0, 1).round(4)
PRED = (SCORE >= 0.5).astype(int)


def by_sklearn(rows: np.ndarray) -> dict[str, float]:
    """The measures of some rows as scikit-learn computes them."""
    truth, pred, score = TRUTH[rows], PRED[rows], SCORE[rows]
    (tn, fp), (fn, tp) = sk.confusion_matrix(truth, pred)
    return {
        "accuracy": sk.accuracy_score(truth, pred),
        "true_positive_rate": sk.recall_score(truth, pred),
        "false_positive_rate": fp / (fp + tn),
        "false_negative_rate": fn / (fn + tp),
        "precision": sk.precision_score(truth, pred),
        "selection_rate": pred.mean(),
        "selection_ratio": pred.mean(),
        "auc": sk.roc_auc_score(truth, score),
        "brier_score": sk.brier_score_loss(truth, score),
        "calibration_gap": float((score - truth).mean()),
    }


TABLE = {"group": GROUP, "y": TRUTH, "p": PRED, "s": SCORE}


def test_every_number_is_that_of_sklearn_and_has_an_interval_and_a_verdict() -> None:
    audit = ct.audit(TABLE, by="group", truth="y", pred="p", score="s", replicates=500)
    seen = set()
    for finding in audit.findings:
        expected = by_sklearn(finding.group == GROUP)[finding.metric]
        assert finding.estimate == pytest.approx(expected, abs=1e-12)
        assert finding.low <= finding.estimate <= finding.high
        assert finding.verdict in ("disparity", "insufficient evidence") or finding.verdict.startswith("no")
        seen.add(finding.metric)
    assert seen == set(by_sklearn(GROUP == "a"))


def test_the_ratio_of_selection_rates_is_that_of_the_rates() -> None:
    rows = GROUP != "c"
    two = {name: column[rows] for name, column in TABLE.items()}
    audit = ct.audit(two, by="group", truth="y", pred="p", replicates=500)
    (finding,) = [f for f in audit.findings if f.metric == "selection_ratio"]
    rates = [PRED[group == GROUP].mean() for group in "ab"]
    assert finding.failure_ratio is None  # who is selected is no failure
    assert finding.effect == pytest.approx(rates[0] / rates[1])
    assert finding.effect_low < finding.effect < finding.effect_high


def test_a_group_of_which_all_are_selected_or_ranked_right_is_compared_and_has_the_interval_of_people() -> None:
    truth = np.tile([0, 1], 60)
    group = np.repeat(["a", "b", "c"], 40)
    pred = np.where(group == "c", 1, np.tile([0, 1, 0, 0, 1], 24))
    score = np.where(group == "a", truth * 0.8 + 0.1, np.tile(np.linspace(0, 1, 40), 3))
    audit = ct.audit({"group": group, "y": truth, "p": pred, "s": score}, by="group", truth="y", pred="p", score="s")
    limits = {(e.metric, e.group): (e.estimate, e.low, e.high) for e in audit.groups}
    assert all(limits["selection_ratio", name] == limits["selection_rate", name] for name in "abc")
    assert limits["selection_ratio", "c"][1] < 0.93
    value, low, high = limits["auc", "a"]
    assert (value, high) == (1, 1) and low < 0.9  # 20 people of the one class, 20 of the other
    compared = {(f.metric, f.group): f for f in audit.findings}
    assert compared["auc", "a"].verdict == compared["selection_ratio", "c"].verdict == "disparity"
    reasons = [f.reason for f in compared.values() if f.metric_kind == "ratio"]
    assert reasons and not any("failures" in reason or "neither" in reason for reason in reasons)


def test_the_interval_of_the_auc_covers_and_counts_people() -> None:
    """DeLong's standard error against one from resampling, and rows of one person are no further evidence."""
    rows = GROUP == "a"
    single = ct.audit(TABLE, by="group", truth="y", pred="p", score="s", metrics=["auc"], replicates=500)
    finding = next(f for f in single.findings if (f.metric, f.group) == ("auc", "a"))
    index, draws = np.flatnonzero(rows), []
    for _ in range(400):
        chosen = RANDOM.choice(index, len(index))
        draws.append(sk.roc_auc_score(TRUTH[chosen], SCORE[chosen]))
    assert finding.high - finding.low == pytest.approx(2 * 1.96 * np.std(draws), rel=0.2)
    twice = {name: np.repeat(column, 2) for name, column in TABLE.items()} | {"person": np.repeat(np.arange(N), 2)}
    again = ct.audit(twice, by="group", truth="y", pred="p", score="s", metrics=["auc"], replicates=500)
    repeated = next(f for f in again.findings if (f.metric, f.group) == ("auc", "a"))
    assert repeated.high - repeated.low == pytest.approx(finding.high - finding.low, rel=1e-6)
    assert repeated.clusters == finding.n


@pytest.mark.parametrize(
    ("yes", "no"), [("1", "0"), ("yes", "no"), ("TRUE", "FALSE"), ("Ja", "Nein"), ("1.0", "0.0"), ("100 %", "0 %")]
)
def test_rates_in_any_words(yes: str, no: str) -> None:
    truth, pred = ([yes if value else no for value in column] for column in (TRUTH, PRED))
    rates = prediction_columns(truth, pred)
    assert np.nanmean(rates.columns["true_positive_rate"]) == pytest.approx(sk.recall_score(TRUTH, PRED))


def test_numbers_give_errors_and_bias() -> None:
    truth = RANDOM.uniform(18, 70, N).round(2)
    pred = (truth + RANDOM.normal(0, 3, N) + 2 * (GROUP == "c")).round(2)
    audit = ct.audit({"group": GROUP, "y": truth, "p": pred}, by="group", truth="y", pred="p", replicates=500)
    for finding in audit.findings:
        rows = finding.group == GROUP
        expected = {
            "error": sk.mean_squared_error(truth[rows], pred[rows]),
            "absolute_error": sk.mean_absolute_error(truth[rows], pred[rows]),
            "bias": float((pred - truth)[rows].mean()),
        }
        assert finding.estimate == pytest.approx(expected[finding.metric])


def test_classes_scores_and_gaps() -> None:
    rates = prediction_columns(["cat", "dog", "cow", "N/A"], ["cat", "cow", "cow", "cat"])
    assert rates.metrics == ["accuracy"] and np.nanmean(rates.columns["accuracy"]) == pytest.approx(2 / 3)
    assert rates.columns["truth_known"].tolist() == [1, 1, 1, 0]
    one = prediction_columns(["cat", "dog", "cow"], ["cat", "cat", "cow"], positive="cat")
    assert np.nanmean(one.columns["precision"]) == 0.5
    scored = prediction_columns([1, 0, 1], [0.9, 0.6, 0.2])
    assert scored.metrics[-1] == "brier_score" and scored.columns["selection_rate"].tolist() == [1, 1, 0]
    unanswered = prediction_columns([1, 1, 0], ["yes", "", "no"])
    assert unanswered.columns["truth_positive"].tolist() == [1, 1, 0]
    assert np.isnan(unanswered.columns["true_positive_rate"][1])


@pytest.mark.parametrize(
    ("truth", "pred", "problem"),
    [
        (["hired", "not"], ["hired", "hired"], 'say which of them is the positive class: positive="hired"'),
        ([1.5, 2.5], [1.0, "many"], "cell is not a number|positive class"),
        ([1, 0], None, "name the column of predictions: pred="),
    ],
)
def test_what_is_ambiguous_is_asked_for(truth: list[object], pred: list[object] | None, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        prediction_columns(truth, pred)


def test_commas_between_thousands_are_read_where_something_shows_them_else_asked_for() -> None:
    with pytest.raises(InputError, match=r"truth: '3,096' may be 3\.096 or 3,096; write numbers with a point"):
        prediction_columns(["3,096", "2,100"], ["3,000", "2,200"])
    shown = prediction_columns(["3,096", "2,100"], ["3,000.50", "1,234,567"])
    assert shown.columns["bias"].tolist() == [3000.5 - 3096, 1234567 - 2100]
    assert prediction_columns(["3,096", "2,1"], ["3,0", "2,2"]).columns["bias"].tolist() == pytest.approx([-0.096, 0.1])


def test_classes_that_differ_in_capitals_are_the_same_class() -> None:
    rates = prediction_columns(["hired", "rejected", "hired"], ["Hired", "HIRED", "Rejected "], positive="Hired")
    assert rates.columns["true_positive_rate"].tolist()[::2] == [1.0, 0.0]
    assert rates.columns["false_positive_rate"].tolist()[1] == 1.0
    animals = prediction_columns(["cat", "dog", "owl"], ["Cat", "DOG", "cat"])
    assert animals.columns["accuracy"].tolist() == [1.0, 1.0, 0.0]


def test_predictions_in_other_words_than_the_truth_are_refused() -> None:
    truth = ["paid", "default", "paid", "default"]
    for positive in ("paid", "default"):
        with pytest.raises(InputError, match="no word is in both; write the same words in both columns"):
            prediction_columns(truth, ["approve", "reject", "reject", "approve"], positive=positive)
    with pytest.raises(InputError, match="no word is in both"):
        prediction_columns(["cat", "dog", "owl"], ["Katze", "Hund", "Eule"])
    with pytest.raises(InputError, match="no word is in both"):
        prediction_columns([1, 0, 1], ["yes", "no", "no"], positive="0")


def test_one_and_zero_yes_and_no_and_scores_need_no_word_of_the_truth() -> None:
    truth = ["paid", "default", "paid", "default"]
    for pred in ([1, 0, 0, 1], ["yes", "no", "no", "yes"], [0.9, 0.1, 0.2, 0.8], [True, False, False, True]):
        rates = prediction_columns(truth, pred, positive="paid")
        assert np.nanmean(rates.columns["true_positive_rate"]) == 0.5
        assert np.nanmean(rates.columns["false_positive_rate"]) == 0.5
    scored = prediction_columns(truth, None, [0.9, 0.1, 0.2, 0.1], positive="paid")
    assert np.nanmean(scored.columns["true_positive_rate"]) == 0.5
    assert np.nanmean(scored.columns["accuracy"]) == 0.75


def test_a_stray_word_among_predictions_is_named_with_its_row() -> None:
    with pytest.raises(InputError, match=r"1 cell is none of the words of the others, Yes, No \(row 3: 'maybe'\)"):
        prediction_columns([1, 0, 1], ["Yes", "No", "maybe"])
    with pytest.raises(
        InputError, match=r"truth: 1 cell is none of .*\(row 3: 'Total'\); correct them or leave them empty"
    ):
        prediction_columns(["1", "0", "Total"], ["1", "0", ""])
    assert prediction_columns(["1", "0", "2"], ["1", "0", "1"]).metrics == ["accuracy"]  # a class never predicted


def test_scores_that_no_probability_is_are_not_cut_at_a_half() -> None:
    for score in ([31.0, 85.5, 2.0], [-2.5, 3.1, 0.2]):
        with pytest.raises(
            InputError, match=r"score holds numbers from .*, which are not probabilities, so 0\.5 does not"
        ):
            prediction_columns([1, 0, 1], None, score)
        with pytest.raises(InputError, match=r"pred holds numbers from .*; name a column of decisions \(pred=\)"):
            prediction_columns([1, 0, 1], score)
    assert "true_positive_rate" in prediction_columns([1, 0, 1], [1, 0, 0], [31.0, 85.5, 2.0]).metrics
    with pytest.raises(InputError, match="truth: no row has a value"):
        prediction_columns(["", None], [1, 0])


def test_the_command_reads_a_table_as_a_spreadsheet_saved_it(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    with path.open("w", newline="", encoding="cp1252") as stream:
        writer = csv.writer(stream, delimiter=";")
        writer.writerow(["Gruppe", "Wahrheit", "Vorhersage", "Wert"])
        for group, truth, pred, score in zip(GROUP, TRUTH, PRED, SCORE, strict=True):
            words = "Ja" if truth else "Nein", "ja" if pred else "nein", f"{100 * score:.2f} %".replace(".", ",")
            writer.writerow([group, *words])
    words = [
        "audit",
        str(path),
        "--truth",
        "Wahrheit",
        "--pred",
        "Vorhersage",
        "--score",
        "Wert",
        "--by",
        "Gruppe",
        "-q",
    ]
    files = ["--json", str(tmp_path / "a.json"), "--report", str(tmp_path / "a.html")]
    result = CliRunner().invoke(app, [*words, *files])
    assert result.exit_code == 0, result.output
    for name in by_sklearn(GROUP == "a"):
        assert name in result.output
    assert "auc" in (tmp_path / "a.json").read_text() and (tmp_path / "a.html").stat().st_size > 10_000
    page = (tmp_path / "a.html").read_text()
    assert ".parquet" not in page and hashlib.sha256(path.read_bytes()).hexdigest() in page
    assert "countenance audit table.csv --truth Wahrheit --pred Vorhersage --score Wert --by Gruppe" in page


def test_what_was_left_out_of_a_table_is_said(tmp_path: Path) -> None:
    rows = "".join(f"{t},{p},{g}\n" for t, p, g in zip(TRUTH, PRED, GROUP, strict=True))
    (tmp_path / "t.csv").write_text(f"Report of 2026,,\n,,\ny,p,group\n{rows}y,p,group\n")
    result = CliRunner().invoke(app, ["audit", str(tmp_path / "t.csv"), "--truth", "y", "--pred", "p", "--by", "group"])
    assert result.exit_code == 0, result.output
    assert "t.csv: line 1 (Report of 2026) is a title and left out" in result.output
    assert f"t.csv: line {N + 4} repeats the header and is left out" in result.output


def test_a_score_alone_gives_the_scoring_rate_and_its_impact_ratio(tmp_path: Path) -> None:
    path = tmp_path / "scores.csv"
    path.write_text("sex,score\n" + "".join(f"{'fm'[i % 2]},{i if i % 2 else i / 2}\n" for i in range(200)))
    result = CliRunner().invoke(app, ["audit", str(path), "--score", "score", "--by", "sex", "-q"])
    assert result.exit_code == 0, result.output
    assert "scoring_rate" in result.output and "impact_ratio" in result.output


def test_every_column_that_is_not_there_is_named_at_once() -> None:
    rows = {"id": range(60), "grp": ["x", "y"] * 30, "y": [0, 1] * 30, "p": [1, 0] * 30}
    with pytest.raises(ct.InputError) as refusal:
        ct.audit(rows, by=["group"], truth="Y1", pred="q")
    message = str(refusal.value)
    assert all(name in message for name in ("no column 'Y1'", "no column 'q'", "no column 'group' (did you mean grp?)"))
