"""A folder is written whole or not at all, and nothing is left beside it."""

import errno
from pathlib import Path

import pytest

from countenance.errors import InputError
from countenance.files import staged


def test_a_folder_appears_when_it_is_whole(tmp_path: Path) -> None:
    out = tmp_path / "deep" / "board"
    with staged(out) as folder:
        (folder / "a.txt").write_text("a")
        assert not out.exists()
        assert folder.parent.parent == out.parent, "beside the folder: a rename between file systems fails"
        assert folder.parent.name.startswith("."), "hidden, so that a board does not list it"
    assert (out / "a.txt").read_text() == "a"
    assert [path.name for path in out.parent.iterdir()] == ["board"]


def test_a_failure_leaves_what_was_there(tmp_path: Path) -> None:
    out = tmp_path / "board"
    with staged(out) as folder:
        (folder / "a.txt").write_text("old")
    with pytest.raises(RuntimeError), staged(out, replace=True) as folder:
        (folder / "a.txt").write_text("new")
        raise RuntimeError
    assert (out / "a.txt").read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["board"]


def test_an_existing_folder_is_refused_or_replaced(tmp_path: Path) -> None:
    out = tmp_path / "board"
    with staged(out) as folder:
        (folder / "a.txt").write_text("old")
    with pytest.raises(InputError, match="exists already"), staged(out):
        pass
    with staged(out, replace=True) as folder:
        (folder / "b.txt").write_text("new")
    assert [path.name for path in out.iterdir()] == ["b.txt"]
    assert [path.name for path in tmp_path.iterdir()] == ["board"]


def test_a_full_disk_names_the_folder_that_the_user_named(tmp_path: Path) -> None:
    out = tmp_path / "made"
    with pytest.raises(OSError, match="No space left") as caught, staged(out):
        raise OSError(errno.ENOSPC, "No space left on device")  # as a write says it, without a name
    assert caught.value.filename == str(out)
    with pytest.raises(OSError, match="No space left") as caught, staged(out) as folder:
        raise OSError(errno.ENOSPC, "No space left on device", str(folder / "images" / "a.png"))
    assert caught.value.filename == str(out / "images" / "a.png")
    with pytest.raises(FileNotFoundError) as other, staged(out):
        raise FileNotFoundError(errno.ENOENT, "No such file", str(tmp_path / "elsewhere"))
    assert other.value.filename == str(tmp_path / "elsewhere")
    assert list(tmp_path.iterdir()) == []
