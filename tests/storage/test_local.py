"""Blobs on a disk: whole or not at all, one writer, nothing outside the folder."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from countenance.errors import InputError
from countenance.files import write_atomically
from countenance.storage import Missing, descriptors, open_storage, place_of
from countenance.storage.local import LocalStorage


@pytest.fixture(params=[True, False], ids=["descriptors", "paths"])
def place(tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> LocalStorage:
    """A folder as Linux and macOS open what is in it, and as Windows does."""
    monkeypatch.setattr(descriptors, "DESCRIPTORS", request.param and descriptors.DESCRIPTORS)
    return LocalStorage(tmp_path / "run")


def test_what_is_written_is_read(place: LocalStorage) -> None:
    place.write("a/b.bin", b"one")
    place.write("a/b.bin", b"two")
    place.write_stream("c.bin", lambda stream: stream.write(b"three"))
    assert place.read("a/b.bin") == b"two" and place.read("c.bin") == b"three"
    assert [(entry.name, entry.size) for entry in place.entries()] == [("a/b.bin", 3), ("c.bin", 5)]
    assert [entry.name for entry in place.entries("a/")] == ["a/b.bin"]
    with place.local_file("c.bin") as path:
        assert Path(path).read_bytes() == b"three"


def test_what_is_not_there_is_missing(place: LocalStorage) -> None:
    for name in ("a", "a/b"):
        with pytest.raises(Missing):
            place.read(name)
    place.delete("a")
    assert place.entries() == [] and list(place.leftovers()) == []
    with pytest.raises(Missing), place.local_file("a"):
        pass


def test_of_sixteen_writers_the_first_wins(place: LocalStorage) -> None:
    won: list[int] = []
    barrier = threading.Barrier(16)

    def write(number: int) -> None:
        barrier.wait()
        if place.create("marker", str(number).encode()):
            won.append(number)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(won) == 1 and place.read("marker") == str(won[0]).encode()
    assert list(place.leftovers()) == []


def test_a_failed_write_leaves_the_old_content(place: LocalStorage) -> None:
    place.write("a", b"old")

    def fail(stream: object) -> None:
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space left"):
        place.write_stream("a", fail)
    assert place.read("a") == b"old" and [path.name for path in place.folder.iterdir()] == ["a"]


def test_the_users_file_is_named_not_the_temporary_one(tmp_path: Path) -> None:
    def fail(part: Path) -> None:
        raise OSError(28, "No space left on device", str(part))

    with pytest.raises(OSError) as caught:
        write_atomically(tmp_path / "page.html", fail)
    assert caught.value.filename == str(tmp_path / "page.html")


def test_an_emptied_folder_goes_and_others_stay(place: LocalStorage) -> None:
    place.write("a/b/c", b"1")
    place.write("a/d", b"2")
    place.delete("a/b/c")
    assert not (place.folder / "a" / "b").exists() and place.read("a/d") == b"2"
    place.delete("a/d")
    assert place.folder.exists() and list(place.folder.iterdir()) == []


def test_a_second_writer_is_refused_until_the_first_has_ended(place: LocalStorage) -> None:
    with place.hold(), pytest.raises(InputError, match="another run is writing here"), place.hold():
        pass
    with place.hold():
        pass


def test_a_lock_ends_with_its_process(place: LocalStorage) -> None:
    script = (
        "import sys, time; from pathlib import Path; from countenance.storage.local import LocalStorage\n"
        "with LocalStorage(Path(sys.argv[1])).hold():\n    print('held', flush=True); time.sleep(60)"
    )
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", script, str(place.folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment) as holder:
        assert holder.stdout and holder.stdout.readline() == b"held\n"
        with pytest.raises(InputError, match="another run"), place.hold():
            pass
        holder.kill()
        holder.wait()
    with place.hold():
        pass


def test_a_lock_never_follows_a_link(place: LocalStorage, tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.write_text("content")
    place.folder.mkdir()
    (place.folder / ".lock").symlink_to(precious)
    with pytest.raises(InputError, match="cannot be opened as a lock"), place.hold():
        pass
    assert precious.read_text() == "content"


def test_links_are_no_part_of_a_run(place: LocalStorage, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret").write_text("x")
    place.write("a", b"1")
    (place.folder / "link").symlink_to(outside / "secret")
    (place.folder / "folder").symlink_to(outside)
    assert [entry.name for entry in place.entries()] == ["a"]


def test_a_run_moves_aside_and_its_place_is_free(place: LocalStorage) -> None:
    place.write("a", b"1")
    aside = place.move_aside("run-old")
    assert aside.read("a") == b"1" and place.entries() == []
    assert [other.place for other in place.siblings("run-")] == [aside.place]
    place.write("a", b"2")
    with pytest.raises(InputError, match="is taken"):
        place.move_aside("run-old")


def test_leftovers_of_a_killed_writer_are_removed(place: LocalStorage) -> None:
    place.write("a/b", b"1")
    (place.folder / "a" / ".b.1234abcd.part").write_bytes(b"half")
    assert [entry.name for entry in place.entries()] == ["a/b"]
    assert list(place.leftovers()) == ["a/.b.1234abcd.part"] and list(place.leftovers()) == []


def test_a_folder_is_opened_as_storage(tmp_path: Path) -> None:
    assert open_storage(tmp_path).place == str(tmp_path)
    storage = LocalStorage(tmp_path)
    assert open_storage(storage) is storage


@pytest.mark.parametrize("place", ["http://127.0.0.1:9000/runs", "gs://bucket/run", "file:///tmp/run"])
def test_urls_of_other_stores_are_refused(place):
    with pytest.raises(InputError, match="expected a folder or s3://bucket/prefix"):
        place_of(place)
    with pytest.raises(InputError, match="found a URL of"):
        open_storage(place)


LEAVING = (
    "../victim.txt",
    "/etc/hostname",
    "a/../../victim.txt",
    "",
    ".",
    "..",
    "a//b",
    "a/./b",
    "C:/x",
    "a\\..\\b",
    "a\0b",
)


@pytest.mark.parametrize("name", LEAVING)
def test_no_name_leads_out_of_the_folder(place: LocalStorage, tmp_path: Path, name: str) -> None:
    victim = tmp_path / "victim.txt"
    victim.write_text("theirs")
    place.write("a/b", b"ours")
    for use in (
        place.read,
        place.open,
        place.delete,
        lambda n: place.write(n, b"x"),
        lambda n: place.create(n, b"x"),
        lambda n: place.write_stream(n, lambda stream: stream.write(b"x")),
        lambda n: place.local_file(n).__enter__(),
    ):
        with pytest.raises(InputError, match="leads out of it"):
            use(name)
    assert not place.has(name) and victim.read_text() == "theirs"
    assert [entry.name for entry in place.entries()] == ["a/b"]


def test_links_are_not_followed_and_are_replaced_by_what_is_written(place: LocalStorage, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "victim").write_text("theirs")
    place.write("own", b"ours")
    (place.folder / "file").symlink_to(outside / "victim")
    (place.folder / "folder").symlink_to(outside)
    for name in ("file", "folder/victim"):
        with pytest.raises(InputError, match="a link, which is not followed"):
            place.read(name)
        assert not place.has(name)
    with pytest.raises(InputError, match="a link"):
        place.delete("folder/victim")
    assert [entry.name for entry in place.entries()] == ["own"] and place.entries("folder/") == []
    place.write("file", b"new")
    place.write("folder/victim", b"new")
    assert place.read("file") == place.read("folder/victim") == b"new"
    assert (outside / "victim").read_text() == "theirs"
    (place.folder / "again").symlink_to(outside / "victim")
    place.delete("again")
    assert not (place.folder / "again").is_symlink() and (outside / "victim").exists()
    (tmp_path / "run-linked").symlink_to(outside)
    assert place.siblings("run-") == []


def test_a_folder_in_place_of_a_file_and_the_reverse_are_moved_out_of_the_way(place: LocalStorage) -> None:
    place.write("own", b"ours")
    (place.folder / "scores.parquet").mkdir()
    (place.folder / "scores.parquet" / "notes.txt").write_text("theirs")
    (place.folder / "answers").write_text("a file")
    place.write("scores.parquet", b"table")
    assert place.create("answers/0", b"first")
    place.delete("answers/0/deeper")
    assert place.read("scores.parquet") == b"table" and place.read("answers/0") == b"first"
    kept = sorted(entry.name.partition(".in-the-way-")[0] for entry in place.entries() if "in-the-way" in entry.name)
    assert kept == ["answers", "scores.parquet"]


def test_an_empty_folder_in_the_way_goes(place: LocalStorage) -> None:
    for name in ("own", "answers/0"):
        (place.folder / name).mkdir(parents=True)
        place.write(name, b"content")
        assert place.read(name) == b"content"
    assert sorted(path.name for path in place.folder.rglob("*")) == ["0", "answers", "own"]


def test_credentials_in_an_address_are_refused_and_not_echoed(monkeypatch: pytest.MonkeyPatch) -> None:
    for place in ("s3://AKIA:sEcReT/x@bucket/run", "s3://sEcReT@bucket/run", "https://me:sEcReT@host/run"):
        for use in (place_of, open_storage):
            with pytest.raises(InputError) as caught:
                use(place)
            assert "sEcReT" not in str(caught.value) and "AWS_ACCESS_KEY_ID" in str(caught.value)
    monkeypatch.setenv("AWS_ENDPOINT_URL", "https://me:sEcReT@store.example.org")
    pytest.importorskip("obstore", reason="the extra s3 is not installed")
    with pytest.raises(InputError) as caught:
        open_storage("s3://bucket/run").entries()
    assert "sEcReT" not in str(caught.value) and "AWS_ENDPOINT_URL is https://…@store.example.org" in str(caught.value)
