"""Closed by default: each rule refuses what it is for, and lets the viewer's own pages through."""

from pathlib import Path

import pytest
from tests.view.conftest import SECRET, Viewer, start

from countenance.errors import InputError
from countenance.run.store import RunStore
from countenance.view.network import Address
from countenance.view.scope import ScopedStorage, id_of, runs_below
from countenance.view.token import Token, make_token

PAGES = (
    "/",
    "/runs/{run}",
    "/runs/{run}/rows",
    "/runs/{run}/samples",
    "/api/runs",
    "/api/runs/{run}/estimates",
    "/static/view.js",
    "/runs/{run}/thumbnails/3",
    "/api/views",
    "/compare",
)


@pytest.mark.parametrize("page", PAGES)
def test_a_request_needs_the_token(viewer: Viewer, first: str, page: str) -> None:
    path = page.format(run=first)
    assert viewer.ask(path, token=None).status == 401
    assert viewer.ask(path, token="wrong-wrong").status == 401
    answer = viewer.ask(path)
    assert answer.status == 200 and "location" not in answer.headers


def test_the_cookie_set_by_the_token_is_enough(viewer: Viewer) -> None:
    cookie = viewer.ask("/").headers["set-cookie"]
    assert "HttpOnly" in cookie and "SameSite=Strict" in cookie
    name = cookie.partition(";")[0]
    assert viewer.ask("/api/runs", token=None, Cookie=name).status == 200
    assert viewer.ask("/api/runs", token=None, Cookie=name[:-1]).status == 401
    assert "set-cookie" not in viewer.ask("/api/runs", token=None, Cookie=name).headers


def test_a_wrong_token_is_not_saved_by_a_right_cookie(viewer: Viewer) -> None:
    cookie = viewer.ask("/").headers["set-cookie"].partition(";")[0]
    assert viewer.ask("/api/runs", token="wrong-wrong", Cookie=cookie).status == 401


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:{port}",
        "127.0.0.1",
        "127.0.0.1:1",
        "localhost.evil.example:{port}",
        "127.0.0.1:{port}@evil.example",
        "[::1",
        "",
        "10.0.0.1:{port}",
    ],
)
def test_a_foreign_host_is_refused(viewer: Viewer, host: str) -> None:
    assert viewer.ask("/api/runs", Host=host.format(port=viewer.port)).status in (400, 403)


@pytest.mark.parametrize("host", ["127.0.0.1:{port}", "localhost:{port}", "LOCALHOST:{port}"])
def test_the_own_host_is_accepted(viewer: Viewer, host: str) -> None:
    assert viewer.ask("/api/runs", Host=host.format(port=viewer.port)).status == 200


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "https://127.0.0.1:{port}", "http://127.0.0.1:1"])
def test_a_foreign_origin_is_refused(viewer: Viewer, origin: str) -> None:
    assert viewer.ask("/api/runs", Origin=origin.format(port=viewer.port)).status == 403


@pytest.mark.parametrize(
    ("site", "status"), [("cross-site", 403), ("same-site", 403), ("same-origin", 200), ("none", 200)]
)
def test_other_sites_are_refused(viewer: Viewer, site: str, status: int) -> None:
    assert viewer.ask("/api/runs", Sec_Fetch_Site=site).status == status


def test_what_changes_something_must_say_its_origin(viewer: Viewer) -> None:
    form = {"Content_Type": "application/x-www-form-urlencoded"}
    body = "name=a&address=%2F"
    assert viewer.ask("/views", method="POST", body=body, **form).status == 403
    assert viewer.ask("/views", method="POST", body=body, Origin="http://evil.example", **form).status == 403
    assert viewer.ask("/views", method="POST", body=body, Origin=viewer.url, **form).status == 200
    assert viewer.ask("/views/delete", method="POST", body="name=a", Origin=viewer.url, **form).status == 200


def test_a_get_changes_nothing(viewer: Viewer) -> None:
    for path in ("/views", "/views/delete", "/views/delete?name=a"):
        assert viewer.ask(path).status in (404, 405)


def test_a_large_request_is_refused(viewer: Viewer) -> None:
    assert viewer.ask("/views", method="POST", body="a" * 100_000, Origin=viewer.url).status == 413


ESCAPES = (
    "/../../etc/passwd",
    "/static/../../../etc/passwd",
    "/static/%2e%2e/%2e%2e/etc/passwd",
    "/static//etc/passwd",
    "/static/..%2f..%2fapp.py",
    "/runs/%2e%2e",
    "/runs/..",
    "/runs/../..",
    "/runs/%2Fetc",
    "/runs//etc/passwd/rows",
    "/runs/{run}/../../../etc/passwd",
    "/runs/{run}/thumbnails/..%2f..%2frun.json",
    "/runs/{run}/thumbnails/-1",
    "/runs/{run}/pictures/%2e%2e",
    "/runs/{run}/export/..%2frun.json",
    "/api/runs/..%2f..%2fetc",
    "/runs/{run}%00",
    "/runs/{run}/run.json",
    "/runs/{run}/local.json",
    "/runs/{run}/samples/99999999",
    "/docs",
    "/openapi.json",
)


@pytest.mark.parametrize("path", ESCAPES)
def test_no_path_leads_out(viewer: Viewer, first: str, path: str) -> None:
    answer = viewer.ask(path.format(run=first))
    assert answer.status in (400, 404, 422)
    assert b"root:" not in answer.content


def test_an_unknown_run_gets_a_sentence(viewer: Viewer) -> None:
    answer = viewer.ask("/api/runs/nobody-000000000000/estimates")
    assert answer.status == 404 and "no run" in answer.json()["error"]


def test_links_are_not_followed(tmp_path: Path, runs: Path) -> None:
    named, outside = tmp_path / "named", tmp_path / "outside"
    named.mkdir()
    outside.mkdir()
    (named / "linked").symlink_to(runs / "second")
    (named / "half").mkdir()
    (named / "half" / "run.json").symlink_to(runs / "second" / "run.json")
    assert list(runs_below(named)) == []
    (outside / "run.json").write_bytes((runs / "second" / "run.json").read_bytes())
    whole = named / "whole"
    whole.mkdir()
    (whole / "run.json").write_bytes((runs / "second" / "run.json").read_bytes())
    RunStore(whole).seal()
    (whole / "scores.parquet").symlink_to(runs / "second" / "scores.parquet")
    viewer = start([named])
    run = viewer.id_of("whole")
    assert viewer.ask(f"/api/runs/{id_of(outside)}/estimates").status == 404
    answer = viewer.ask(f"/api/runs/{run}/estimates")
    assert answer.status == 400 and "a link, which is not followed" in answer.json()["error"]
    with pytest.raises(InputError, match="leads out"):
        ScopedStorage(whole.resolve()).read("../../outside/run.json")
    viewer.close()


def test_every_answer_carries_the_policy(viewer: Viewer, first: str) -> None:
    for path, token in (("/", SECRET), (f"/runs/{first}", SECRET), ("/nothing", SECRET), ("/", None)):
        headers = viewer.ask(path, token=token).headers
        assert "default-src 'none'" in headers["content-security-policy"]
        assert "unsafe-inline" not in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff" and headers["referrer-policy"] == "same-origin"
        assert "access-control-allow-origin" not in headers


def test_pages_hold_no_inline_script_and_no_token(viewer: Viewer, first: str) -> None:
    for path in ("/", f"/runs/{first}", f"/runs/{first}/tests", f"/runs/{first}/samples", f"/runs/{first}/rows"):
        text = viewer.ask(path).text
        assert SECRET not in text
        assert "<script>" not in text and " style=" not in text and " onclick" not in text


def test_another_address_needs_a_token_and_a_word(viewer: Viewer) -> None:
    for allow, named in ((False, False), (True, False), (False, True)):
        with pytest.raises(InputError, match="other machines"):
            Address("0.0.0.0", 8000).check(allow_remote=allow, token_named=named)
    Address("0.0.0.0", 8000).check(allow_remote=True, token_named=True)
    Address("127.0.0.1", 8000).check(allow_remote=False, token_named=False)
    assert not Address("0.0.0.0", 8000).refusal("GET", {"host": "192.168.1.4:8000"})
    assert Address("0.0.0.0", 8000).refusal("GET", {"host": "evil.example:8000"})


def test_tokens_are_random_and_a_short_one_is_refused() -> None:
    assert make_token() != make_token() and len(make_token()) >= 32
    assert make_token("short") == "short"
    with pytest.raises(InputError, match="at least 16"):
        make_token("short", local=False)
    for bad in ("", "  ", "a\nb"):
        with pytest.raises(InputError, match="empty or not printable"):
            make_token(bad)


def test_a_token_may_have_any_characters(runs: Path) -> None:
    odd = "semi;colon é & =%"
    assert ";" not in Token(odd, 1).mark
    assert Token(odd, 1).accepts(odd) and Token(odd, 1).accepts(None, Token(odd, 1).mark)
    assert not Token(odd, 1).accepts(None, odd)


def test_nothing_is_reported_to_a_collector(viewer: Viewer, monkeypatch: pytest.MonkeyPatch) -> None:
    import fastapi

    from countenance.view import app

    seen = {}
    real = fastapi.FastAPI

    def watched(**options: object) -> object:
        seen.update(options)
        return real(**options)  # type: ignore[arg-type]

    monkeypatch.setattr(fastapi, "FastAPI", watched)
    app.make_app(viewer.library, Address("127.0.0.1", 1), app.Token(SECRET, 1))
    assert seen["telemetry"] == {"tracing": False, "metrics": False, "logs": False, "auto_configure": False}


@pytest.mark.parametrize("path", ["thumbnails/1e9", "samples/x", "pictures/0x10", "unanswered/one/small"])
def test_a_place_that_is_no_number_gets_a_sentence(viewer: Viewer, first: str, path: str) -> None:
    """It was answered with the framework's own JSON."""
    answer = viewer.ask(f"/runs/{first}/{path}")
    assert answer.status == 404 and answer.text == "There is nothing at this address.\n"


@pytest.mark.parametrize("delta", ["nan", "1e400", "-1", "x"])
def test_a_delta_that_is_no_number_gets_a_sentence(viewer: Viewer, first: str, delta: str) -> None:
    answer = viewer.ask(f"/runs/{first}/tests?by=gender&metric=recall%400.5&adjust=holm&delta={delta}")
    assert answer.status == 400 and "delta" in answer.text
