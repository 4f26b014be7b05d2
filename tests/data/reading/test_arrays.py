"""Arrays in files: a cache that heals, and files that hold something else."""

import numpy as np
import pytest

from countenance.data.reading.arrays import Cache, digest, read_arrays, read_tensors, save_arrays
from countenance.errors import InputError


def test_a_damaged_cache_entry_is_made_again(tmp_path):
    cache = Cache(tmp_path)
    cache.put("kind", "key", {"a": np.arange(3)})
    assert cache.get("kind", "key")["a"].tolist() == [0, 1, 2]
    cache.path("kind", "key").write_bytes(b"PK\x03\x04 half")
    assert cache.get("kind", "key") is None


def test_force_finds_nothing_and_keeps_what_is_made(tmp_path):
    Cache(tmp_path, force=True).put("kind", "key", {"a": np.arange(2)})
    assert Cache(tmp_path, force=True).get("kind", "key") is None
    assert Cache(tmp_path).get("kind", "key")["a"].tolist() == [0, 1]


def test_only_the_arrays_asked_for_are_read(tmp_path):
    np.savez(tmp_path / "a.npz", good=np.arange(2), bad=np.array([{}], dtype=object))
    assert list(read_arrays(tmp_path / "a.npz", ("good",))) == ["good"]
    with pytest.raises(InputError, match=r"not a readable \.npz file"):
        read_arrays(tmp_path / "a.npz", ("bad",))
    with pytest.raises(InputError, match="no array 'other'; expected good, other"):
        read_arrays(tmp_path / "a.npz", ("good", "other"))


def test_a_missing_file_names_its_remedy(tmp_path):
    with pytest.raises(InputError, match="no such file; make it first"):
        read_arrays(tmp_path / "a.npz", ("a",), "make it first")
    save_arrays(tmp_path / "new" / "a.npz", {"a": np.ones(1)})
    assert read_arrays(tmp_path / "new" / "a.npz", ("a",))["a"].tolist() == [1.0]


def test_a_key_depends_on_shape_type_content_and_order():
    one = np.arange(4.0)
    keys = [
        digest("a", one),
        digest("b", one),
        digest(one, "a"),
        digest("a", one.reshape(2, 2)),
        digest("a", one[::-1]),
    ]
    keys += [
        digest("a", one.astype(np.float32)),
        digest("a", one, b"x"),
        digest("ab"),
        digest("a", "b"),
        digest(b"a", one),
    ]
    assert len(set(keys)) == len(keys) and digest("a", one[::-1][::-1]) == keys[0]


class Bomb:
    def __reduce__(self):
        return print, ("nothing in a .pth file is executed",)


def test_tensors_and_arrays_are_read_and_nothing_is_executed(tmp_path, capsys):
    torch = pytest.importorskip("torch")
    path = tmp_path / "a.pth"
    torch.save({"a": torch.ones(2, dtype=torch.float32), "b": np.arange(3), "c": [1, 2]}, path)
    assert [made.tolist() for made in read_tensors(path, ("c", "a", "b"))] == [[1, 2], [1, 1], [0, 1, 2]]
    torch.save({"a": Bomb()}, path)
    with pytest.raises(InputError, match=r"not a \.pth file of tensors .*save a dict of tensors"):
        read_tensors(path, ("a",))
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ([1], "holds a list, expected a dict with a"),
        ({"b": 1}, "'a' is NoneType, expected a tensor"),
        ({"a": "x"}, "'a' is str, expected a tensor"),
        ({"a": ["x"]}, "'a' holds something else than numbers"),
    ],
)
def test_a_file_of_something_else_is_named(tmp_path, content, expected):
    torch = pytest.importorskip("torch")
    torch.save(content, tmp_path / "a.pth")
    with pytest.raises(InputError, match=expected):
        read_tensors(tmp_path / "a.pth", ("a",))
    (tmp_path / "b.pth").write_bytes(b"no such thing")
    with pytest.raises(InputError, match=r"not a \.pth file"):
        read_tensors(tmp_path / "b.pth", ("a",))
