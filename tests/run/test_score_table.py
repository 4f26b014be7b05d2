"""The score table is written from the shards in blocks, as one file or as a folder of files."""

from pathlib import Path

import pytest

from countenance.run import evaluate, stages
from countenance.testing import DiscDetector, small_dataset


@pytest.mark.parametrize(("block", "most", "files"), [(100, 300, 2), (100, 10**7, 1), (64, 128, 5)])
def test_blocks_and_files_give_the_same_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block: int, most: int, files: int
) -> None:
    data = small_dataset(300, 16)
    whole = evaluate(DiscDetector(), "face_localization", data, out=tmp_path / "whole", batch=4)
    monkeypatch.setattr(stages, "BLOCK", block)
    monkeypatch.setattr(stages, "MOST_ROWS", most)
    found = evaluate(DiscDetector(), "face_localization", data, out=tmp_path / "blocks", batch=4)
    assert len(found.store.score_files()) == files and found.scores().equals(whole.scores())
