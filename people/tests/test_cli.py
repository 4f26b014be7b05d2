"""The command line: wrong input is one line; archives come apart and together again."""

from __future__ import annotations

import tarfile
from pathlib import Path

import pytest

from countenance_people import cli
from countenance_people.archive import write_archive


def run(*arguments: str, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr("sys.argv", ["countenance-people", *arguments])
    with pytest.raises(SystemExit) as end:
        cli.main()
    return int(end.value.code or 0)


@pytest.mark.parametrize("share", ["16/16", "1", "-1/4", "a/b", "1/0"])
def test_a_wrong_share_is_refused(
    share: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("build", "--out", str(tmp_path / "new"), f"--share={share}", monkeypatch=monkeypatch) == 2
    assert capsys.readouterr().err.startswith("error: --share")


def test_a_folder_with_something_else_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "letter.txt").write_text("dear")
    for command in ("render", "build"):
        assert run(command, "--out", str(tmp_path), monkeypatch=monkeypatch) == 2
        assert "holds something else" in capsys.readouterr().err
    assert run("pack", str(tmp_path), "--to", str(tmp_path / "a.tar"), monkeypatch=monkeypatch) == 2


def test_a_folder_of_another_seed_or_of_other_settings_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Pictures of another seed have the same names, and would be taken for this one's."""
    monkeypatch.setattr(cli, "render_specs", lambda specs, *_, **__: ["portraits/id000_0"])
    for arguments in (["--seed", "1"], ["--seed", "1"]):
        assert run("render", "--out", str(tmp_path), *arguments, monkeypatch=monkeypatch) == 2
        assert "1 are missing: portraits/id000_0; run it again" in capsys.readouterr().err
    for arguments in (["--seed", "2"], ["--samples", "9"], ["--depth-maps"]):
        assert run("render", "--out", str(tmp_path), *arguments, monkeypatch=monkeypatch) == 2
        assert "was begun with seed 1, samples 6, depth maps False" in capsys.readouterr().err
    assert run("build", "--set", "full", "--seed", "1", "--out", str(tmp_path), monkeypatch=monkeypatch) == 2
    assert "was begun with" in capsys.readouterr().err


def test_a_place_that_cannot_be_written_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "set" / ".truth").mkdir(parents=True)
    for arguments in (
        ["render", "--out", str(tmp_path / "file" / "inside")],
        ["pack", str(tmp_path / "set"), "--to", str(tmp_path)],
        ["pack", str(tmp_path / "set"), "--to", str(tmp_path / "set" / "a.tar")],
        ["pack", str(tmp_path / "set"), "--to", str(tmp_path / "file" / "a.tar")],
    ):
        assert run(*arguments, monkeypatch=monkeypatch) == 2
        error = capsys.readouterr().err
        assert error.startswith("error: ") and error.count("\n") == 1, error


def test_nothing_to_render_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run("render", "--n", "0", "--out", str(tmp_path), monkeypatch=monkeypatch) == 2


def test_pieces_of_an_archive_make_the_folder_again(tmp_path: Path) -> None:
    folder, back = tmp_path / "set", tmp_path / "back"
    (folder / ".truth" / "portraits").mkdir(parents=True)
    (folder / "portraits").mkdir()
    for number in range(9):
        (folder / "portraits" / f"{number}.webp").write_bytes(bytes([number]) * 5000)
        (folder / ".truth" / "portraits" / f"{number}.json").write_text(str(number))
    (folder / "portraits" / ".8.webp.123").write_bytes(b"half a picture")
    largest = 32 * 1024
    pieces = write_archive(folder, tmp_path / "core.tar", largest)
    assert len(pieces) > 1 and max(path.stat().st_size for path in pieces) <= largest
    for path in pieces:
        with tarfile.open(path) as tar:
            tar.extractall(back, filter="data")
    files = {path.relative_to(back): path.read_bytes() for path in back.rglob("*") if path.is_file()}
    assert len(files) == 18
    assert all((folder / name).read_bytes() == data for name, data in files.items())
    assert (
        write_archive(folder, tmp_path / "again.tar")[0].read_bytes()
        == write_archive(folder, tmp_path / "b.tar")[0].read_bytes()
    )
