"""Some cases of the fuzzer that changes content and seals it again; `tools/fuzz_content.py` draws any number."""

import argparse
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from tests.hostile.making import make_good

    folder = tmp_path_factory.mktemp("content") / "good"
    make_good(folder)
    return folder


@pytest.mark.parametrize("kind", ["run", "data", "predictions", "policy"])
def test_what_is_well_formed_and_absurd_costs_one_line(kind: str, good: Path, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(sys, "path", [str(ROOT / "tools"), *sys.path])
    monkeypatch.setenv("CANARY", str(tmp_path / "canary"))
    monkeypatch.chdir(tmp_path)
    from fuzz_content import drawn, one_case

    options = argparse.Namespace(seed=0, kind=kind, case=None, keep=None)
    numbers = range({"run": 10, "policy": 8}.get(kind, 5))
    assert len({drawn(number, 0, kind)[1] for number in numbers}) > (1 if kind != "policy" else 0)
    findings = [line for number in numbers for line in one_case(number, options, good, tmp_path / f"case-{number}")]
    assert findings == []


def test_the_file_of_a_case_becomes_an_item_of_the_corpus(good: Path, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(sys, "path", [str(ROOT / "tools"), *sys.path])
    monkeypatch.setenv("CANARY", str(tmp_path / "canary"))
    monkeypatch.chdir(tmp_path)
    import fuzz_content
    from tests.hostile import items

    assert items.kept(), "the corpus holds files that fuzzers drew"
    monkeypatch.setattr(fuzz_content, "KEPT", tmp_path / "kept")
    monkeypatch.setattr(items, "HERE", tmp_path)
    options = argparse.Namespace(seed=0, kind="policy", case=None, keep="drawn")
    assert fuzz_content.one_case(0, options, good, tmp_path / "case") == []
    (item,) = items.kept()
    assert (item.name, item.kind, item.telling) == ("drawn", "policy", ("gate",))
    item.make(tmp_path)
    changed = (tmp_path / "gate.yaml").read_bytes()
    assert changed != (good / "gate.yaml").read_bytes()
