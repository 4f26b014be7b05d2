"""The scoring process: what a worker's last stage does elsewhere is what it would do itself."""

from pathlib import Path

import pytest

from countenance.errors import InputError
from countenance.run import evaluate, evaluation
from countenance.testing import write_small_dataset

MODEL = "countenance.testing:DiscDetector"


@pytest.fixture(scope="module")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_small_dataset(tmp_path_factory.mktemp("data") / "pictures", 24, 32)


def test_a_killed_scoring_process_loses_nothing(
    pictures: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    once = tmp_path / "once"
    monkeypatch.setenv("SCORING_KILLED", str(once))
    found = {}
    for name, decoders in (("here", 0), ("process", 1)):
        once.unlink(missing_ok=True)
        run = evaluate(MODEL, "fakes:KILLS_SCORING", pictures, out=tmp_path / name, batch=4, shard=8, decoders=decoders)
        assert once.exists()
        found[name] = (run.store.storage.read("scores.parquet"), run.store.storage.read("failures.parquet"))
    assert found["here"] == found["process"]


def test_an_error_in_scoring_is_reported_as_in_one_process(pictures: Path, tmp_path: Path) -> None:
    said = []
    for name, decoders in (("here", 0), ("process", 1)):
        with pytest.raises(RuntimeError, match="a bug in scoring") as error:
            evaluate(MODEL, "fakes:BROKEN_SCORING", pictures, out=tmp_path / name, decoders=decoders)
        said.append(str(error.value).strip().splitlines()[-1])
    assert said[0] == said[1]


def test_strict_stops_at_the_same_image(pictures: Path, tmp_path: Path) -> None:
    said = []
    for name, decoders in (("here", 0), ("process", 1)):
        with pytest.raises(InputError, match="stopped at the first failure") as error:
            evaluate(
                "fakes:turned_boxes", "face_localization", pictures, out=tmp_path / name, decoders=decoders, strict=True
            )
        said.append(str(error.value))
    assert said[0] == said[1]


def test_a_long_run_loads_its_model_once(pictures: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    loads, said = tmp_path / "loads", []
    monkeypatch.setenv("MODEL_LOADS", str(loads))
    monkeypatch.setattr(evaluation, "LONG", 10)
    evaluate(
        "fakes:CountedLoads",
        "face_localization",
        pictures,
        out=tmp_path / "run",
        batch=4,
        shard=8,
        decoders=1,
        say=said.append,
    )
    assert loads.read_text() == "loaded\n"
    assert any("images to do" in line for line in said)
