"""The command group, end to end through the exit codes."""

import json
from pathlib import Path

import pytest
from scipy.stats import chisquare

from countenance.cli import app as root
from countenance.cli import bias_bounty
from countenance.data.adapters.bias_bounty_files import predictions_text, read_labels
from countenance.run import Run
from countenance.tasks import Number

Captured = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def registered() -> None:
    """The group under its name, whether or not the root command has it already."""
    if not any(group.name == "bias-bounty" for group in root.app.registered_groups):
        root.app.add_typer(bias_bounty.app, name="bias-bounty")


def perfect(labels: Path, out: Path) -> Path:
    table = read_labels(labels)
    from countenance.data.adapters.bias_bounty_files import ATTRIBUTES, CLASSES

    words = [{name: CLASSES[name][max(int(table.codes[name][i]), 0)] for name in ATTRIBUTES} for i in range(len(table))]
    out.write_text(predictions_text(table.names, words))
    return out


def test_score_writes_the_contract_and_exits_with_0(challenge: Path, tmp_path: Path, capsys: Captured) -> None:
    labels = challenge / "holdout" / "labels.csv"
    predictions = perfect(labels, tmp_path / "p.csv")
    out, submission = tmp_path / "o.json", tmp_path / "submission.json"
    arguments = [
        "bias-bounty",
        "score",
        "--labels",
        str(labels),
        "--predictions",
        str(predictions),
        "--nonfaces",
        str(challenge / "holdout" / "nonfaces.txt"),
        "--json",
        str(out),
        "--submission",
        str(submission),
        "--name",
        "me",
    ]
    assert root.run(arguments) == 0
    found = json.loads(out.read_text())
    assert found["score1"] == 16
    for name in ("skin_tone", "age", "gender"):
        p = chisquare(list(found["randomness"]["counts"][name].values())).pvalue
        assert found["randomness"]["p"][name] == pytest.approx(p)
        assert found["randomness"]["passed"][name] == (p > 0.05)
    assert found["score1_faces_alone"] == 16
    assert json.loads(submission.read_text())["submission_name"] == "me"
    assert "Score₁" in capsys.readouterr().out


def test_the_run_has_the_numbers_of_the_score(challenge: Path, tmp_path: Path) -> None:
    labels = challenge / "holdout" / "labels.csv"
    predictions = perfect(labels, tmp_path / "p.csv")
    text = predictions.read_text().replace("female", "male")
    predictions.write_text(text)
    (tmp_path / "who.csv").write_text("name,identity\n" + "".join(f"h{i:03}.png,p{i // 4}\n" for i in range(40)))
    arguments = [
        "bias-bounty",
        "score",
        "--labels",
        str(labels),
        "--predictions",
        str(predictions),
        "--nonfaces",
        str(challenge / "holdout" / "nonfaces.txt"),
        "--identities",
        str(tmp_path / "who.csv"),
        "--replicates",
        "200",
        "--json",
        str(tmp_path / "o.json"),
        "--out",
        str(tmp_path / "run"),
    ]
    assert root.run(arguments) == 0
    score, run = json.loads((tmp_path / "o.json").read_text()), Run(tmp_path / "run")
    numbers = {result.name: result for result in run.results() if isinstance(result, Number)}
    assert numbers["Score₁"].value == score["score1"]
    assert [numbers["Score₁"].low, numbers["Score₁"].high] == score["intervals"]["score1"]
    for name in ("skin_tone", "age", "gender"):
        assert numbers[f"accuracy of {name}"].value == score["accuracy"][name]
        assert numbers[f"disparity of {name}"].value == score["disparity"][name]
        assert numbers[f"randomness of {name}"].value == score["randomness"]["p"][name]
        right = [value for value in run.scores()[f"m.correct_{name}"].to_pylist() if value is not None]
        assert sum(right) / len(right) == pytest.approx(score["accuracy"][name])
    assert run.notes == score["notes"]


def test_a_purge_finds_what_somebody_laid_into_the_run(challenge: Path, tmp_path: Path, capsys: Captured) -> None:
    labels, run = challenge / "test" / "labels.csv", tmp_path / "run"
    predictions = perfect(labels, tmp_path / "p.csv")
    (tmp_path / "who.csv").write_text("name,identity\n" + "".join(f"h{i:03}.png,p{i // 4}\n" for i in range(30)))
    files = ["--labels", str(labels), "--predictions", str(predictions), "--identities", str(tmp_path / "who.csv")]
    assert root.run(["bias-bounty", "score", *files, "--replicates", "200", "--out", str(run)]) == 0
    (run / "report.pdf").write_bytes(b"%PDF-1.4 of somebody's own")
    (tmp_path / "gone.txt").write_text("p0\n")
    capsys.readouterr()
    assert root.run(["purge", str(run), "--subjects", str(tmp_path / "gone.txt")]) == 0
    assert (run / "report.pdf").exists()
    assert f"left     {run}/report.pdf (not ours; check whether it shows somebody)" in capsys.readouterr().out


def test_a_wrong_submission_exits_with_2_in_one_line_and_writes_nothing(
    challenge: Path, tmp_path: Path, capsys: Captured
) -> None:
    predictions = tmp_path / "p.csv"
    predictions.write_text("name,skin_tone,gender,age\nh000.png,monk_12,male,0_17\n")
    out = tmp_path / "o.json"
    labels = str(challenge / "test" / "labels.csv")
    arguments = ["--labels", labels, "--predictions", str(predictions), "--json", str(out)]
    assert root.run(["bias-bounty", "score", *arguments]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "monk_12" in said
    assert not out.exists()


def test_training_where_something_is_already_exits_with_2(challenge: Path, tmp_path: Path, capsys: Captured) -> None:
    arguments = ["--entry", "better", "--data", str(challenge), "--out", str(tmp_path)]
    assert root.run(["bias-bounty", "train", *arguments]) == 2
    assert "exists already" in capsys.readouterr().err


def test_an_entry_that_is_none_exits_with_2(challenge: Path, tmp_path: Path, capsys: Captured) -> None:
    arguments = ["--entry", str(tmp_path), "--images", str(challenge / "test"), "--out", str(tmp_path / "p.csv")]
    assert root.run(["bias-bounty", "predict", *arguments]) == 2
    assert "entry.json: no such file" in capsys.readouterr().err


def test_from_an_entry_to_the_leaderboard(
    unsupervised: Path, challenge: Path, tmp_path: Path, capsys: Captured
) -> None:
    def run(command: str, *arguments: object) -> str:
        assert root.run(["bias-bounty", command, *map(str, arguments)]) == 0, capsys.readouterr().err
        return capsys.readouterr().out

    for split in ("test", "holdout"):
        out = tmp_path / f"{split}.csv"
        run("predict", "--entry", unsupervised, "--images", challenge / split, "--out", out, "--threads", 1, "--quiet")
    said = run("time", "--entry", unsupervised, "--images", challenge / "holdout", "--json", tmp_path / "time.json")
    assert "images/s" in said
    assert "loading apart" in said
    run(
        "submit",
        "--name",
        "mine",
        "--kind",
        "unsupervised",
        "--data",
        challenge,
        "--board",
        tmp_path / "board",
        "--test",
        tmp_path / "test.csv",
        "--holdout",
        tmp_path / "holdout.csv",
        "--timing",
        tmp_path / "time.json",
    )
    page, table = tmp_path / "leaderboard.html", tmp_path / "leaderboard.json"
    said = run("leaderboard", tmp_path / "board", "--data", challenge, "--out", page, "--json", table)
    assert "private: Score₂ on the holdout, unsupervised" in said
    assert "mine" in page.read_text()
    found = json.loads(table.read_text())
    assert found["tables"]["private"]["unsupervised"][0]["name"] == "mine"
    assert found["entries"]["mine"]["timing"]["images"] == 90


def test_a_board_without_a_whole_submission_exits_with_2(challenge: Path, tmp_path: Path, capsys: Captured) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "submission.json").write_text("[]")
    assert root.run(["bias-bounty", "leaderboard", str(tmp_path), "--data", str(challenge)]) == 2
    said = capsys.readouterr()
    assert "rejected a" in said.out
    assert "every submission was rejected" in said.err
