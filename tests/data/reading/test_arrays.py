"""Arrays in files: a cache that heals, and files that hold something else."""

import numpy as np
import pytest

from countenance.data.reading.arrays import Cache, read_arrays, save_arrays
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
