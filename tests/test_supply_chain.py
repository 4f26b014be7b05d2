"""Licences, hashes and the bill of materials are those of what is installed, and the wheel is the same each time."""

import hashlib
import importlib.util
import json
import os
import re
import subprocess
import sys
import zipfile
from email import message_from_string
from email.message import Message
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


REPOSITORY, SITE = "https://code.example.org/c", "https://docs.example.org/c"


def build(folder: Path, **addresses: str) -> Path:
    """A wheel, built with some of the project's addresses."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    elsewhere = {name: value for name, value in os.environ.items() if not name.startswith("COUNTENANCE_")}
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True, env=elsewhere | addresses)
    return next(folder.glob("*.whl"))


def described(wheel: Path) -> Message:
    """The metadata of a wheel."""
    with zipfile.ZipFile(wheel) as archive:
        (name,) = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        return message_from_string(archive.read(name).decode())


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The wheel of a release, built twice."""
    folder = tmp_path_factory.mktemp("wheels")
    known = {"COUNTENANCE_REPOSITORY": REPOSITORY, "COUNTENANCE_SITE": f"{SITE}/"}
    return [build(folder / name, **known) for name in ("first", "second")]


def test_the_wheel_of_a_release_names_the_projects_addresses(wheels: list[Path]) -> None:
    record = described(wheels[0])
    assert record.get_all("Project-URL") == [
        f"Homepage, {SITE}",
        f"Documentation, {SITE}",
        f"Source, {REPOSITORY}",
        f"Issues, {REPOSITORY}/issues",
        f"Changelog, {REPOSITORY}/blob/HEAD/CHANGELOG.md",
    ]
    page = record.get_payload()
    assert f"]({REPOSITORY}/raw/v{record['Version']}/docs/images/ladder.webp)" in page
    assert f"[changelog]({REPOSITORY}/blob/v{record['Version']}/CHANGELOG.md)" in page
    assert not re.search(r"\]\((?!https://)", page)


def test_a_wheel_that_is_built_elsewhere_names_no_address(tmp_path: Path) -> None:
    record = described(build(tmp_path))
    assert record.get_all("Project-URL") is None
    assert record.get_payload() == (ROOT / "README.md").read_text(encoding="utf-8")


def test_an_address_that_is_none_stops_the_build(tmp_path: Path) -> None:
    with pytest.raises(subprocess.CalledProcessError) as stopped:
        build(tmp_path, COUNTENANCE_SITE="docs.example.org")
    assert "COUNTENANCE_SITE is 'docs.example.org', expected an address" in stopped.value.stderr


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
