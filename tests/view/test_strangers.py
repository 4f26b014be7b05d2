"""The viewer and strangers: whatever an address carries, whoever connects, and runs that somebody sent."""

import json
import shutil
import socket
import time
from pathlib import Path
from urllib.parse import quote

import pytest
from tests.hostile.items import ACTING
from tests.view.conftest import Viewer, query, start

from countenance.run import Run
from countenance.run.manifest import Place
from countenance.run.store import RunStore
from countenance.view import protocol

PAGES = ("", "/rows", "/samples", "/tests", "/unanswered", "/samples/3", "/export/rows.csv", "/export/findings.csv")
NAMES = (
    "page",
    "size",
    "by_metric",
    "metric",
    "by",
    "where",
    "depth",
    "alpha",
    "delta",
    "adjust",
    "of",
    "group",
    "show",
    "order",
    "side",
    "reason",
    "kind",
)
VALUES = (
    "²",
    "9" * 5000,
    "-1",
    "0",
    "1e999",
    "nan",
    "inf",
    "sample",
    "identity",
    "m.recall@0.5",
    "attr.gender",
    "\x00",
    "%",
    "../../etc",
    "skin_tone*skin_tone",
    "a=b=c",
    "=",
    ",",
    "gender:1,0",
    ACTING,
    "\ud800".encode("utf-16", "surrogatepass").decode("latin-1"),
)


@pytest.mark.parametrize("name", NAMES)
def test_no_value_of_a_parameter_is_a_bug(viewer: Viewer, first: str, name: str) -> None:
    for value in VALUES:
        page = PAGES[(NAMES.index(name) + VALUES.index(value)) % len(PAGES)]
        for address in (f"/runs/{first}{page}", f"/api/runs/{first}/rows"):
            answer = viewer.ask(f"{address}?{name}={quote(value, safe='')}")
            assert answer.status in (200, 400, 404, 414), (address, name, value[:40], answer.content[:200])


@pytest.mark.parametrize(
    "parts", [{"page": "²"}, {"page": "9" * 5000}, {"by_metric": "sample"}, {"metric": "identity"}]
)
def test_the_three_that_were_bugs_get_a_sentence(viewer: Viewer, first: str, parts: dict[str, str]) -> None:
    answer = viewer.ask(f"/api/runs/{first}/rows?{query(**parts)}")
    assert (answer.status == 400 and "expected" in answer.json()["error"]) or "no metric" in answer.json()["error"]


@pytest.mark.parametrize("place", ["²", "9" * 5000, "-1", "1e3", "99999999999999999999999999999999999999999999", "0x1"])
def test_no_place_of_a_row_is_a_bug(viewer: Viewer, first: str, place: str) -> None:
    for page in ("samples", "thumbnails", "pictures", "made"):
        assert viewer.ask(f"/runs/{first}/{page}/{quote(place)}").status in (400, 404)


def test_the_list_of_runs_and_the_comparison_check_their_parameters_too(viewer: Viewer, first: str) -> None:
    for path in (
        "/?page=²",
        "/?sort=name;drop",
        f"/?page={'9' * 4000}",
        f"/compare?run={first}&run=nobody",
        f"/compare/samples?run={first}&run={viewer.id_of('second')}&page=²&change=x",
        f"/compare/changes?run={first}&run={viewer.id_of('second')}&depth=99",
        "/?q=" + quote(ACTING),
    ):
        assert viewer.ask(quote(path, safe="/?=&%;")).status in (200, 400, 404)


def test_an_address_has_a_length(viewer: Viewer, first: str) -> None:
    assert viewer.ask(f"/runs/{first}?by={'x' * 9000}").status == 414
    assert viewer.ask(f"/runs/{first}?" + "a=b&" * 400).status == 400
    assert viewer.ask(
        "/views", method="POST", body="x", Origin=viewer.url, Content_Length="²".encode().decode("latin-1")
    ).status in (400, 413)


def test_a_refused_request_gets_its_answer_though_more_is_sent(viewer: Viewer) -> None:
    with socket.create_connection(("127.0.0.1", viewer.port), timeout=60) as connection:
        connection.sendall(b"POST /views HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: x\r\n\r\n")
        time.sleep(0.2)
        connection.sendall(b"name=" + b"x" * 1000)
        time.sleep(0.2)
        connection.sendall(b"x" * 1000)
        answer = b""
        while part := connection.recv(4096):
            answer += part
    assert answer.startswith(b"HTTP/1.1 400 ")


def test_connections_that_never_ask_are_cut_off(runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(protocol, "REQUEST", 0.5)
    here = start([runs / "second"])
    silent = socket.create_connection(("127.0.0.1", here.port))
    slow = socket.create_connection(("127.0.0.1", here.port))
    slow.sendall(b"GET / HTTP/1.1\r\nHost: 127")
    body = socket.create_connection(("127.0.0.1", here.port))
    start_of_body = f"POST /views HTTP/1.1\r\nHost: 127.0.0.1:{here.port}\r\nContent-Length: 50\r\n\r\nname="
    body.sendall(start_of_body.encode())
    for one in (silent, slow, body):
        one.settimeout(30)
        with pytest.raises((ConnectionResetError, BrokenPipeError, EOFError)):
            for _ in range(300):  # a byte now and then does not buy more time
                if one is slow:
                    one.sendall(b"x")
                    time.sleep(0.1)
                elif not one.recv(65536):
                    raise EOFError
        one.close()
    assert here.ask("/").status == 200, "others are served all the while"
    here.close()


def foreign(runs: Path, folder: Path, source: str) -> Path:
    """A run that somebody sent: its marks and its source are theirs."""
    shutil.copytree(runs / "second", folder / "run")
    path = folder / "run" / "run.json"
    manifest = json.loads(path.read_text(encoding="utf-8"))
    manifest["dataset"]["source"] = source
    path.write_text(json.dumps(manifest), encoding="utf-8")
    local = {"source": source, "mark": "0" * 64, "salt": "x"}
    (folder / "run" / "local.json").write_text(json.dumps(local), encoding="utf-8")
    RunStore(folder / "run").seal()
    return folder


@pytest.mark.parametrize("source", ["/usr", "s3://strangers/data", "BOMB"])
def test_the_data_source_of_a_foreign_run_is_not_followed(runs: Path, tmp_path: Path, source: str, monkeypatch) -> None:
    import countenance.data

    asked: list[str] = []
    monkeypatch.setattr(countenance.data, "load_dataset", lambda where, **_: asked.append(str(where)))
    here = start([foreign(runs, tmp_path, source)])
    page = here.ask(f"/runs/{here.id_of('run')}/samples")
    assert page.status == 200 and "was not made here" in page.text and asked == []
    here.close()


def test_a_data_source_that_is_named_is_followed(runs: Path, first_run: Run, tmp_path: Path) -> None:
    places = foreign(runs, tmp_path, "/usr")
    name = first_run.manifest.dataset.card.name
    here = start([places], data={name: str(first_run.local.source)})
    page = here.ask(f"/runs/{here.id_of('run')}/samples?show=all")
    assert "was not made here" not in page.text and page.text.count('rect class="truth"') >= 40
    here.close()


def test_a_run_of_this_user_is_known_wherever_it_is_copied(
    runs: Path, first_run: Run, tmp_path: Path, monkeypatch
) -> None:
    shutil.copytree(first_run.path, tmp_path / "run")
    assert Run(tmp_path / "run").made_here and Run(tmp_path / "run").dataset().name == first_run.dataset_name
    monkeypatch.setenv("COUNTENANCE_STATE", str(tmp_path / "another user"))
    assert not Run(tmp_path / "run").made_here and Run(tmp_path / "run").local == Place()


def test_an_edited_run_is_shown_only_when_that_is_asked_for(runs: Path, tmp_path: Path) -> None:
    shutil.copytree(runs / "second", tmp_path / "run")
    table = tmp_path / "run" / "scores.parquet"
    table.write_bytes((tmp_path / "run" / "failures.parquet").read_bytes())
    here = start([tmp_path])
    answer = here.ask(f"/api/runs/{here.id_of('run')}/estimates")
    assert answer.status == 400 and "its content is not what was written" in answer.json()["error"]
    here.close()
    shutil.copy(runs / "second" / "scores.parquet", table)
    here = start([tmp_path], verified=False)
    for page in ("/", f"/runs/{here.id_of('run')}", f"/runs/{here.id_of('run')}/samples"):
        answer = here.ask(page)
        assert answer.status == 200 and "were not compared with their hashes" in answer.text
    here.close()
