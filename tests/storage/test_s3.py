"""Objects in an S3 store: the same behaviour as on a disk, through throttling, latency and outages."""

import random
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from countenance.errors import InputError
from countenance.storage import Missing, open_storage
from countenance.storage.lease import LOCK, Lease
from countenance.storage.s3 import S3Storage
from s3_servers import DENIED, Fault, Proxy


@pytest.fixture
def place(s3: str, request: pytest.FixtureRequest) -> S3Storage:
    return S3Storage(f"s3://tests/{request.node.name}/run")


def test_what_is_written_is_read(place: S3Storage) -> None:
    place.write("a/b.bin", b"one")
    place.write("a/b.bin", b"two")
    place.write_stream("c.bin", lambda stream: stream.write(b"three"))
    assert place.read("a/b.bin") == b"two" and place.read("c.bin") == b"three"
    assert [(entry.name, entry.size) for entry in place.entries()] == [("a/b.bin", 3), ("c.bin", 5)]
    assert [entry.name for entry in place.entries("a/")] == ["a/b.bin"]
    assert [entry.name for entry in place.entries("c.b")] == ["c.bin"]
    assert place.has("c.bin") and not place.has("c") and not place.has("a")
    with place.local_file("c.bin") as path:
        assert Path(path).read_bytes() == b"three"


def test_an_object_larger_than_one_request_arrives_whole(place: S3Storage) -> None:
    content = bytes(range(256)) * 50_000  # 12.8 MB: three parts
    place.write_stream("large", lambda stream: stream.write(content))
    assert place.read("large") == content


def test_what_is_not_there_is_missing(place: S3Storage) -> None:
    for name in ("a", "a/b"):
        with pytest.raises(Missing):
            place.read(name)
    place.delete("a")
    assert place.entries() == [] and list(place.leftovers()) == []
    with pytest.raises(Missing), place.local_file("a"):
        pass


def test_of_sixteen_writers_the_first_wins(place: S3Storage) -> None:
    for turn in range(5):
        won: list[int] = []
        barrier = threading.Barrier(16)

        def write(number: int, turn: int = turn, won: list[int] = won, barrier: threading.Barrier = barrier) -> None:
            barrier.wait()
            if place.create(f"marker{turn}", str(number).encode()):
                won.append(number)

        threads = [threading.Thread(target=write, args=(number,)) for number in range(16)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(won) == 1 and place.read(f"marker{turn}") == str(won[0]).encode()


def test_a_place_moves_aside_and_is_found_beside(place: S3Storage) -> None:
    place.write("run.json", b"{}")
    place.write("answers/0", b"x")
    aside = place.move_aside("run-1234")
    assert place.entries() == [] and [entry.name for entry in aside.entries()] == ["answers/0", "run.json"]
    assert [one.place for one in place.siblings("run-")] == [aside.place]
    place.write("run.json", b"{}")
    with pytest.raises(InputError, match="is taken"):
        place.move_aside("run-1234")


def test_one_writer_at_a_time(place: S3Storage) -> None:
    with place.hold():
        with pytest.raises(InputError, match="another run is writing here"), place.hold():
            pass
        assert place.entries() == []
    with place.hold():
        pass
    assert place.read_version(LOCK) is None


def test_the_lock_of_a_killed_process_of_this_machine_counts_no_longer(place: S3Storage) -> None:
    hold = "import sys, time\nfrom countenance.storage import open_storage\n"
    hold += f"with open_storage({place.place!r}).hold(): time.sleep(600)"
    process = subprocess.Popen([sys.executable, "-c", hold])
    while place.read_version(LOCK) is None:
        time.sleep(0.05)
    with pytest.raises(InputError, match="another run is writing here"), place.hold():
        pass
    process.kill()
    process.wait()
    started = time.monotonic()
    with place.hold():
        assert time.monotonic() - started < 5


def test_a_lock_of_another_machine_counts_while_it_changes(place: S3Storage, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as there:
        there.setattr("countenance.storage.lease.machine", lambda: "elsewhere")
        other = Lease(place, lease=1.0, renewed=0.2)
    other._take()
    over = threading.Event()
    keeper = threading.Thread(target=other._keep, args=(over,))
    keeper.start()
    time.sleep(0.6)
    with pytest.raises(InputError, match="another run"), Lease(place, lease=1.0, renewed=0.2).held():
        pass
    over.set()  # the other machine falls silent
    keeper.join()
    with Lease(place, lease=1.0, renewed=0.2).held():
        pass


def test_a_holder_whose_lock_was_taken_over_says_so(place: S3Storage) -> None:
    with pytest.raises(InputError, match="took this place over"), Lease(place, lease=1.0, renewed=0.1).held():
        place.write(LOCK, b'{"owner": "somebody else"}')
        time.sleep(0.8)


def test_throttling_and_latency_cost_time_and_nothing_else(proxy: Proxy) -> None:
    proxy.faults = [
        Fault(lambda method, path: method == "PUT", times=3, status=503),
        Fault(lambda method, path: method == "GET", times=2, status=503),
        Fault(times=3, wait=0.5),
    ]
    place = open_storage("s3://tests/throttled/run")
    place.write("a", b"one")
    assert place.create("b", b"two") and place.read("a") == b"one"
    assert [entry.name for entry in place.entries()] == ["a", "b"]
    assert [fault.times for fault in proxy.faults] == [0, 0, 0]


def test_replies_that_are_cut_off_are_asked_for_again(proxy: Proxy) -> None:
    storage = open_storage("s3://tests/cut-replies")
    content = bytes(range(256)) * 4_000
    storage.write("a.bin", content)
    for share in (0.0, 0.3, 0.99):
        proxy.faults = [Fault(lambda method, path: method == "GET" and "a.bin" in path, times=2, cut_reply=share)]
        assert storage.read("a.bin") == content and proxy.faults[0].hits == 2
    proxy.faults = [Fault(lambda method, path: method == "GET" and "list-type" in path, times=1, cut_reply=0.5)]
    assert [entry.name for entry in storage.entries()] == ["a.bin"]
    large = bytes(range(256)) * 50_000  # in parts, which begin and end with a request of their own
    proxy.faults = [Fault(lambda method, path: method == "POST", times=2, cut_reply=0.5)]
    storage.write_stream("large.bin", lambda stream: stream.write(large))
    assert storage.read("large.bin") == large and proxy.faults[0].hits == 2


def test_replies_that_come_out_of_order_belong_to_their_requests(proxy: Proxy) -> None:
    storage = open_storage("s3://tests/order")
    contents = {f"{number}.bin": bytes([number]) * 5_000 for number in range(12)}
    waits = random.Random(0)
    proxy.faults = [
        Fault(lambda method, path, n=n: path.endswith(f"/{n}.bin"), wait=waits.uniform(0, 0.3)) for n in range(12)
    ]
    with ThreadPoolExecutor(12) as pool:
        list(pool.map(lambda item: storage.write(*item), contents.items()))
        assert dict(zip(contents, pool.map(storage.read, contents), strict=True)) == contents


def test_a_lost_reply_does_not_lose_the_object(proxy: Proxy) -> None:
    place = open_storage("s3://tests/lost/run")
    place.entries()
    proxy.faults = [Fault(lambda method, path: method == "PUT", times=1, lose_reply=True)]
    place.create("marker", b"mine")  # True, or False because the repeated request finds the first
    assert place.read("marker") == b"mine"


def test_a_store_that_is_away_for_a_while_is_waited_for(proxy: Proxy) -> None:
    place = open_storage("s3://tests/away/run")
    place.write("a", b"one")
    proxy.faults = [Fault(drop=True)]
    done: list[bytes] = []
    thread = threading.Thread(target=lambda: done.append(place.read("a")))
    thread.start()
    time.sleep(3)
    assert not done and proxy.faults[0].hits > 1
    proxy.faults = []
    thread.join(60)
    assert done == [b"one"]


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("s3://nobody-has-this/run", "there is no bucket 'nobody-has-this'"),
        ("s3://tests", "no prefix"),
        ("s3:///run", "no prefix"),
        ("s3://tests/a/../b", "no meaning in an object store"),
    ],
)
def test_a_place_that_cannot_be_is_refused_in_one_line(s3: str, url: str, message: str) -> None:
    with pytest.raises(InputError, match=message) as refused:
        open_storage(url).entries()
    assert "\n" not in str(refused.value)


def test_wrong_credentials_are_one_line(proxy: Proxy) -> None:
    proxy.faults = [Fault(status=403, body=DENIED)]
    with pytest.raises(InputError, match="refuses the credentials; check AWS_ACCESS_KEY_ID") as refused:
        open_storage("s3://tests/run").read("a")
    assert "\n" not in str(refused.value)


def test_an_address_where_nobody_answers_is_told_soon(s3: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    started = time.monotonic()
    with pytest.raises(InputError, match=r"127\.0\.0\.1:9 cannot be reached"):
        open_storage("s3://tests/run").entries()
    assert time.monotonic() - started < 30


@pytest.mark.parametrize("address", ["http://s3.example.org", "ftp://127.0.0.1", "127.0.0.1:9000"])
def test_addresses_that_are_not_safe_or_not_addresses(s3: str, monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", address)
    with pytest.raises(InputError, match="AWS_ENDPOINT_URL"):
        open_storage("s3://tests/run").entries()
