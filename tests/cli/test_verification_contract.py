"""The command that people type, with a file of embeddings, and what it leaves behind."""

import json

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from sklearn.metrics.pairwise import cosine_similarity
from typer.testing import CliRunner

from countenance.cli.app import app
from countenance.testing import write_small_dataset


@pytest.fixture
def embeddings(tmp_path):
    """60 pictures, two of each person; the last one has no row and the first one no vector."""
    data = write_small_dataset(tmp_path / "data", 60)
    labels = pd.read_csv(data / "labels.csv")
    random = np.random.default_rng(0)
    centres = random.normal(size=(30, 8))
    vectors = np.array([centres[i // 2] + 0.6 * random.normal(size=8) for i in range(60)])
    name = next(column for column in labels if column in ("image", "file", "sample"))
    table = pd.DataFrame(vectors, columns=[f"e{i}" for i in range(8)])
    table.insert(0, "image", labels[name])
    table.iloc[0, 1:] = np.nan
    table.iloc[:-1].to_csv(tmp_path / "embeddings.csv", index=False)
    return data, tmp_path / "embeddings.csv", vectors


def call(*words: object) -> str:
    found = CliRunner().invoke(app, ["run", "face_verification", *map(str, words), "--quiet"])
    assert found.exit_code == 0, found.output
    return found.output


def test_the_run_holds_what_was_promised(embeddings, tmp_path):
    data, file, vectors = embeddings
    out = tmp_path / "run"
    call("--model", f"predictions:{file}", "--data", data, "--by", "skin_tone", "--fmr", 0.05, "--out", out)
    results = json.loads((out / "results.json").read_text())
    assert all({"type", "name"} <= set(one) for one in results)
    numbers = {one["name"]: one for one in results if one["type"] == "number" and not one["group"]}
    assert {"FMR", "FNMR", "EER"} <= set(numbers)
    (matrix,) = [one for one in results if one["type"] == "matrix" and one["name"] == "FMR by group"]
    scores = pq.read_table(out / "scores.parquet").to_pandas().sort_values("sample").reset_index(drop=True)
    assert scores["m.enrolled"].sum() == 58
    assert scores["m.genuine_accepted"].isna().sum() == 4  # two without an embedding, and their partners
    same = np.arange(60)[:, None] // 2 == np.arange(60)[None, :] // 2
    used = scores["m.enrolled"].to_numpy() == 1
    accepted = cosine_similarity(vectors) >= numbers["threshold"]["value"]
    pairs = np.triu(used[:, None] & used[None, :], 1)
    assert numbers["FMR"]["value"] == pytest.approx(accepted[pairs & ~same].mean(), abs=1e-12)
    assert numbers["FNMR"]["value"] == pytest.approx(1 - accepted[pairs & same].mean(), abs=1e-12)
    tone = scores["attr.skin_tone"].to_numpy()
    for i, row in enumerate(matrix["rows"]):
        both = (tone[:, None] == row) & (tone[None, :] == row)
        assert matrix["values"][i][i] == pytest.approx(accepted[pairs & ~same & both].mean(), abs=1e-12)


def test_a_threshold_is_taken_over_from_another_run(embeddings, tmp_path):
    data, file, _ = embeddings
    common = ("--model", f"predictions:{file}", "--data", data)
    call(*common, "--fmr", 0.05, "--option", "calibration=0.5", "--out", tmp_path / "one")
    call(*common, "--option", f"threshold-from={tmp_path / 'one'}", "--out", tmp_path / "two")
    found = [json.loads((tmp_path / name / "results.json").read_text()) for name in ("one", "two")]
    one, two = ({r["name"]: r for r in results if r["type"] == "number"} for results in found)
    assert one["threshold"]["value"] == two["threshold"]["value"]
    assert "15 other people" in one["threshold"]["meaning"] and "taken over from one" in two["threshold"]["meaning"]


def test_wrong_options_are_one_line(embeddings, tmp_path):
    data, file, _ = embeddings
    found = CliRunner().invoke(
        app,
        [
            "run",
            "face_verification",
            "--model",
            f"predictions:{file}",
            "--data",
            str(data),
            "--fmr",
            "0.1",
            "--threshold",
            "0.5",
            "--out",
            str(tmp_path / "x"),
        ],
    )
    assert found.exit_code != 0 and not (tmp_path / "x").exists()
