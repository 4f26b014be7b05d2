"""Reference vectors as trees that can be evaluated: copied, writable, with their placeholder for the root filled in."""

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

collect_ignore_glob = ["scripts/*"]  # run as scripts by test_original.py, never imported
HERE = Path(__file__).parent / "vectors"


def materialise(source: Path, target: Path) -> Path:
    """A writable copy of one vector with {root} replaced."""
    for path in sorted(source.rglob("*")):
        place = target / path.relative_to(source)
        if path.is_dir():
            place.mkdir(parents=True, exist_ok=True)
        else:
            place.parent.mkdir(parents=True, exist_ok=True)
            content = path.read_bytes()
            if path.suffix == ".json":
                content = content.replace(b"{root}", str(target).encode())
            place.write_bytes(content)
    return target


@pytest.fixture
def vector(tmp_path: Path, request: pytest.FixtureRequest) -> Callable[[str], Path]:
    """A vector by name: from this folder where it is kept here, else from the shared ones."""

    def make(name: str) -> Path:
        source = HERE / name
        if not source.is_dir():
            source = request.getfixturevalue("shared") / "vectors" / "fhibe" / name
        target = tmp_path / name
        shutil.rmtree(target, ignore_errors=True)
        return materialise(source, target)

    return make


@pytest.fixture(scope="session")
def functions() -> list[dict[str, Any]]:
    """133 single calls of the original's functions."""
    actual: list[dict[str, Any]] = json.loads((HERE / "functions.json").read_text())
    return actual


@pytest.fixture(scope="module")
def rendered(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Data made from tiny people, with the outputs of a baseline for every task."""
    from countenance.data import Dataset
    from countenance.suites.fhibe import demo
    from countenance.suites.fhibe.made_data import BODY, FACE, make_data

    from .people import CARD, body, portrait

    root = tmp_path_factory.mktemp("made") / "data"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(demo, "dlib_installed", lambda: False)
        rows = make_data(
            root, Dataset(CARD, [body(i) for i in range(60)]), Dataset(CARD, [portrait(i) for i in range(60)]), side=64
        )
        assert rows == {BODY: 60, FACE: 60}
        demo.write_outputs(root, root / "results")
        yield root
