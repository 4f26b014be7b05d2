import io
import tarfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from countenance.data.paths import inside, unpack
from countenance.errors import InputError


@pytest.mark.parametrize("name", ["../x", "/etc/passwd", "a/../../x", "..\\x", "C:\\x", "", "a\x00b"])
def test_a_name_that_leads_out_is_refused(tmp_path, name: str) -> None:
    with pytest.raises(InputError, match="leads out of its folder"):
        inside(tmp_path, name, "row 2")


def test_a_link_that_leads_out_is_refused(tmp_path) -> None:
    (tmp_path / "set").mkdir()
    (tmp_path / "secret").write_text("x")
    (tmp_path / "set" / "a.png").symlink_to(tmp_path / "secret")
    with pytest.raises(InputError, match="link that leads out"):
        inside(tmp_path / "set", "a.png", "row 2")


@given(st.text(max_size=30))
def test_whatever_the_name_the_path_stays_inside(name: str) -> None:
    root = Path("/data/set")
    try:
        path = inside(root, name, "row")
    except InputError:
        return
    assert path.is_relative_to(root) and ".." not in path.parts


def tar_with(path: Path, members: list[tuple[tarfile.TarInfo, bytes]]) -> Path:
    with tarfile.open(path, "w:gz") as tar:
        for info, content in members:
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return path


def test_a_tar_is_unpacked(tmp_path) -> None:
    archive = tar_with(tmp_path / "a.tar.gz", [(tarfile.TarInfo("./set/a.txt"), b"hello")])
    unpack(archive, tmp_path / "out")
    assert (tmp_path / "out" / "set" / "a.txt").read_bytes() == b"hello"


def test_a_tar_that_leads_out_leaves_nothing_behind(tmp_path) -> None:
    good, bad = tarfile.TarInfo("a.txt"), tarfile.TarInfo("../../evil")
    archive = tar_with(tmp_path / "a.tar.gz", [(good, b"x"), (bad, b"y")])
    with pytest.raises(InputError, match=r"'\.\./\.\./evil' leads out"):
        unpack(archive, tmp_path / "out")
    assert [child.name for child in tmp_path.iterdir()] == ["a.tar.gz"]


def test_links_bombs_and_non_archives_are_refused(tmp_path) -> None:
    link = tarfile.TarInfo("link")
    link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
    with pytest.raises(InputError, match="links are not unpacked"):
        unpack(tar_with(tmp_path / "l.tar.gz", [(link, b"")]), tmp_path / "out")
    with pytest.raises(InputError, match="unpacks to more than 10 bytes"):
        unpack(tar_with(tmp_path / "b.tar.gz", [(tarfile.TarInfo("a"), b"x" * 99)]), tmp_path / "out", limit=10)
    (tmp_path / "n.tar").write_bytes(b"no archive")
    with pytest.raises(InputError, match="not a readable tar archive"):
        unpack(tmp_path / "n.tar", tmp_path / "out")
