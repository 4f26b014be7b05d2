"""Small data directories, and the modules beside the tests importable."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from challenge_files import write_truth


@pytest.fixture
def small(tmp_path):
    """Two images, three faces: subject 3 and a stranger in a.jpg, subject 5 in b.jpg."""
    faces = [
        ("a.jpg", 3, (0.0, 0.0, 10.0, 10.0)),
        ("a.jpg", -1, (50.0, 0.0, 10.0, 10.0)),
        ("b.jpg", 5, (0.0, 0.0, 10.0, 10.0)),
    ]
    return write_truth(tmp_path / "data", faces)


@pytest.fixture
def good_lines():
    """A recognition file for `small`: both known faces right, the stranger named, one false alarm in b.jpg."""
    return [
        "# made by a test",
        "# FILE,BB_X,BB_Y,BB_WIDTH,BB_HEIGHT,DETECTION_SCORE,SUBJECT_ID_1,SCORE_1,...",
        "a.jpg,1.00,1.00,8.00,8.00,0.90,3,0.800000,5,0.100000",
        "a.jpg,51.00,1.00,8.00,8.00,0.80,5,0.300000",
        "b.jpg,1.00,1.00,8.00,8.00,0.70,5,0.600000,-1,0.200000",
        "b.jpg,80.00,80.00,9.00,9.00,0.60,3,0.400000",
    ]


@pytest.fixture
def command(tmp_path, monkeypatch, capsys):
    """Runs `countenance uccs ...` in an empty folder: exit code, standard output, standard error."""
    from countenance.cli.app import run

    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)

    def call(*arguments):
        code = run(["uccs", *map(str, arguments)])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call
