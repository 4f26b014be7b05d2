"""Licences, hashes and the bill of materials are those of what is installed, and the wheel is the same each time."""

import hashlib
import importlib.util
import json
import re
import subprocess
import sys
import zipfile
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def chain() -> ModuleType:
    spec = importlib.util.spec_from_file_location("supply_chain", ROOT / "tools" / "supply_chain.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["supply_chain"] = module
    spec.loader.exec_module(module)
    return module


def test_every_licence_is_allowed(chain: ModuleType) -> None:
    assert chain.refused() == []


def test_a_licence_that_is_not_allowed_is_named(chain: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(chain.SHIPPED, "foreign.onnx", "AGPL-3.0")
    assert chain.refused() == ["foreign.onnx: 'AGPL-3.0': AGPL-3.0 is not allowed"]


def test_the_written_table_and_bill_are_those_of_what_is_installed(chain: ModuleType) -> None:
    for text, path in ((chain.table(), chain.TABLE), (chain.bill(), chain.BILL)):
        assert text == path.read_text(), f"{path.name} is not up to date: run python tools/supply_chain.py"


def test_every_pinned_version_has_hashes(chain: ModuleType) -> None:
    text = chain.HASHED.read_text().replace("\\\n", " ")
    hashes = {
        line.split()[0]: re.findall(r"--hash=sha256:([0-9a-f]{64})", line) for line in text.splitlines() if "==" in line
    }
    assert list(hashes) == [f"{name}=={version}" for name, version in chain.pins().items()]
    assert all(hashes.values())


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The wheel, built twice."""
    folder = tmp_path_factory.mktemp("wheels")
    for name in ("first", "second"):
        command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder / name)]
        subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    return sorted(folder.glob("*/*.whl"))


def test_the_wheel_built_twice_has_one_hash(wheels: list[Path]) -> None:
    first, second = (hashlib.sha256(path.read_bytes()).hexdigest() for path in wheels)
    assert first == second


def test_the_wheel_has_at_most_thirty_megabytes(wheels: list[Path]) -> None:
    assert wheels[0].stat().st_size <= 30_000_000


def test_the_wheel_carries_its_bill_of_materials(wheels: list[Path]) -> None:
    with zipfile.ZipFile(wheels[0]) as archive:
        (name,) = [name for name in archive.namelist() if ".dist-info/sboms/" in name]
        document = json.loads(archive.read(name))
        stored = {Path(name).name for name in archive.namelist()}
    assert (document["bomFormat"], document["metadata"]["component"]["name"]) == ("CycloneDX", "countenance")
    assert {"countenance_mask.onnx", "samples.parquet", "own-detector.md"} <= stored
    needed = {part["name"] for part in document["components"] if part["type"] == "library"}
    assert {"numpy", "pyarrow", "onnxruntime"} <= needed
