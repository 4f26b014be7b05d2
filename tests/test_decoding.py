"""Files from strangers: whatever a library raises on them is one line, and small ones do not fill the memory."""

import bz2
import gzip
import io
import lzma
import tarfile
import zipfile
import zlib
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from countenance.data import load_dataset
from countenance.data.paths import unpack
from countenance.data.reading.arrays import read_arrays
from countenance.data.reading.text_blocks import blocks
from countenance.decoding import decoding, json_of, read_parquet, setting
from countenance.errors import InputError

RAISED = (
    lzma.LZMAError("corrupt"),
    zlib.error("-3"),
    EOFError(),
    tarfile.ReadError("x"),
    zipfile.BadZipFile("x"),
    pa.ArrowInvalid("bad"),
    KeyError("k"),
    OverflowError("big"),
    UnicodeDecodeError("utf-8", b"\xff", 0, 1, "bad"),
    RecursionError("deep"),
    OSError("truncated"),
    ValueError("first\nsecond"),
    ZeroDivisionError(),
)


@pytest.mark.parametrize("error", RAISED, ids=lambda error: type(error).__name__)
def test_whatever_is_raised_is_one_line(error: Exception) -> None:
    with (
        pytest.raises(InputError, match=r"^a\.bin: not a readable archive \(.+\)$") as caught,
        decoding("a.bin", "archive"),
    ):
        raise error
    assert "\n" not in str(caught.value)


def test_errors_of_the_machine_are_no_fault_of_the_file() -> None:
    with pytest.raises(OSError, match="No space left"), decoding("a.bin", "archive"):
        raise OSError(28, "No space left on device", "/full/disk")
    with pytest.raises(InputError, match="COUNTENANCE_MAX_MEMORY"), decoding("a.bin", "archive"):
        raise MemoryError


def test_a_limit_is_a_whole_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COUNTENANCE_MAX_MEMORY", "12")
    assert setting("COUNTENANCE_MAX_MEMORY", 7) == 12
    for text in ("²", "1e9", "-1", "", "9" * 30):
        monkeypatch.setenv("COUNTENANCE_MAX_MEMORY", text)
        with pytest.raises(InputError, match="expected a whole number such as 7"):
            setting("COUNTENANCE_MAX_MEMORY", 7)


def tar_of(path: Path, mode: str, **files: bytes) -> Path:
    with tarfile.open(path, f"w:{mode}") as tar:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return path


@pytest.mark.parametrize("mode", ["", "gz", "bz2", "xz"])
def test_a_damaged_archive_is_refused_wherever_it_is_damaged(tmp_path: Path, mode: str) -> None:
    whole = tar_of(tmp_path / "a.tar", mode, a=np.random.default_rng(0).bytes(40_000), b=b"x" * 9000).read_bytes()
    for where in range(0, len(whole), max(1, len(whole) // 40)):
        for damaged in (whole[:where], whole[:where] + b"\xff\x00\xfe" + whole[where + 3 :]):
            (tmp_path / "b.tar").write_bytes(damaged)
            try:
                unpack(tmp_path / "b.tar", tmp_path / f"out{where}{len(damaged)}")
            except InputError as error:
                assert str(tmp_path / "b.tar") in str(error)
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]


def test_an_archive_that_grows_is_refused_before_the_disk_is_full(tmp_path: Path, monkeypatch) -> None:
    bomb = tar_of(tmp_path / "bomb.tar.gz", "gz", zeros=bytes(80 << 20))
    with pytest.raises(InputError, match="100 times as many"):
        load_dataset(bomb)
    monkeypatch.setenv("COUNTENANCE_MAX_UNPACKED", "1000")
    with pytest.raises(InputError, match="more than 1,000 bytes; set COUNTENANCE_MAX_UNPACKED"):
        load_dataset(tar_of(tmp_path / "large.tar", "", a=bytes(1001)))


def test_names_and_empty_files_of_an_archive_are_limited_too(tmp_path: Path, monkeypatch) -> None:
    """The library reads the name of a member whole, before anybody sees its size."""
    for kind in (tarfile.GNUTYPE_LONGNAME, tarfile.XHDTYPE, tarfile.XGLTYPE):
        head = tarfile.TarInfo("././@LongLink")
        head.type, head.size = kind, 200 << 20
        (tmp_path / "name.tar.gz").write_bytes(gzip.compress(head.tobuf(tarfile.GNU_FORMAT) + bytes(1 << 20)))
        with pytest.raises(InputError, match=r"name\.tar\.gz: not a readable tar archive \(a name of 209,715,200"):
            load_dataset(tmp_path / "name.tar.gz")
    monkeypatch.setenv("COUNTENANCE_MAX_UNPACKED", "5000")
    with pytest.raises(InputError, match="unpacks to more than 5,000 bytes"):
        load_dataset(tar_of(tmp_path / "many.tar", "", **{f"empty{number}": b"" for number in range(12)}))


def test_a_compressed_text_that_grows_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "scores.txt.gz"
    with gzip.open(path, "wb") as stream:
        for _ in range(66):
            stream.write(b"0.5\n" * (1 << 18))
    with pytest.raises(InputError, match=r"scores\.txt\.gz: .* 100 times as many"):
        for _ in blocks(path):
            pass


def test_arrays_that_are_none_or_would_not_fit_are_refused(tmp_path: Path, monkeypatch) -> None:
    path = tmp_path / "a.npz"
    np.savez(path, embedding=np.float64(3.0), subject=np.arange(3))
    with pytest.raises(InputError, match="embedding is a single value"):
        read_arrays(path, ("embedding", "subject"))
    header = (
        b"\x93NUMPY\x01\x00v\x00"
        + b"{'descr': '<f8', 'fortran_order': False, 'shape': (1099511627776,), }".ljust(117)
        + b"\n"
    )
    for content in (header, b"", b"\x93NUMPY", b"no array"):
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as stored:
            stored.writestr("embedding.npy", content)
        with pytest.raises(InputError, match=r"a\.npz: (not a readable|reading it|embedding is a single)"):
            read_arrays(path, ("embedding",))
    for content in (b"", b"PK\x03\x04", gzip.compress(b"x"), bz2.compress(b"x")):
        path.write_bytes(content)
        with pytest.raises(InputError, match="not a readable"):
            read_arrays(path, ("embedding",))


def test_a_table_of_few_bytes_with_many_rows_is_refused(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("COUNTENANCE_MAX_MEMORY", str(1 << 20))
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table({"m.x": np.zeros(1_000_000)}), path, compression="zstd")
    with pytest.raises(InputError, match="1,000,000 rows of 1 columns are more than a file of its size"):
        read_parquet(path, path)
    assert read_parquet(path, path, columns=[]).num_rows == 1_000_000


def test_text_that_stands_in_every_row_does_not_fill_the_memory(tmp_path: Path, monkeypatch) -> None:
    path = tmp_path / "text.parquet"
    word = pa.DictionaryArray.from_arrays(pa.array(np.zeros(10_000, np.int32)), ["x" * 100_000])
    pq.write_table(pa.table({"sample": word}), path, compression="zstd", store_schema=False)
    assert path.stat().st_size < 100_000
    monkeypatch.setenv("COUNTENANCE_MAX_MEMORY", str(200 << 20))
    with pytest.raises(InputError, match="more memory than is allowed"):
        read_parquet(path, path)
    assert read_parquet(path, path, columns=["other"]).num_columns == 0


def test_json_is_refused_by_its_place() -> None:
    for text in ("[" * 100_000, "{", b"\xff", "1" * 5000, "nul"):
        with pytest.raises(InputError, match=r"^a\.json: not JSON"):
            json_of(text, "a.json")
