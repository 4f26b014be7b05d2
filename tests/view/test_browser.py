"""The viewer in a real browser: every page, its keys, its rules; light and dark, narrow and wide."""

import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.browser import IN_BROWSER, problems
from tests.view.conftest import SECRET, Viewer, drawn, query, start

from countenance.cli.app import run as command
from countenance.run import Run, audit_run, evaluate, store_audit

pytestmark = IN_BROWSER


@contextmanager
def opened(chromium: Any, viewer: Viewer, path: str, *, width: int = 1280, **options: Any) -> Iterator[Any]:
    """A page of the viewer; what it says on the console, pops up, or asks of another host fails the test."""
    context = chromium.new_context(viewport={"width": width, "height": 900}, accept_downloads=True, **options)
    page = context.new_page()
    page.set_default_timeout(120_000)  # a busy machine takes its time; nothing that is shown depends on it
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(f"console {message.type}: {message.text}"))
    page.on("pageerror", lambda error: complaints.append(f"error: {error}"))
    page.on("dialog", lambda dialog: (complaints.append(f"dialog: {dialog.message}"), dialog.dismiss()))
    allowed = (viewer.url, "data:", "blob:")
    page.on("request", lambda one: None if one.url.startswith(allowed) else complaints.append(f"request: {one.url}"))
    page.goto(f"{viewer.url}{path}{'&' if '?' in path else '?'}token={SECRET}")
    yield page
    assert not complaints
    context.close()


PAGES = {
    "runs": "/",
    "run": "/runs/{run}?by=skin_tone&metric=recall%400.5&depth=1&adjust=holm",
    "rows": "/runs/{run}/rows?of=skin_tone&group=monk_10",
    "samples": "/runs/{run}/samples?of=skin_tone&group=monk_10",
    "sample": "/runs/{run}/samples/3",
    "unanswered": "/runs/{run}/unanswered",
    "compare": "/compare?run={run}&run={other}&by=gender&metric=recall%400.5&adjust=holm",
    "problem": "/runs/{run}?by=nothing",
}


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (1280, "dark"), (390, "light"), (1920, "dark")])
@pytest.mark.parametrize("name", PAGES)
def test_every_page_is_without_barrier(
    chromium: Any, viewer: Viewer, first: str, tmp_path: Path, name: str, width: int, scheme: str
) -> None:
    path = PAGES[name].format(run=first, other=viewer.id_of("second"))
    context = chromium.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme, bypass_csp=True)
    page = context.new_page()
    page.goto(f"{viewer.url}{path}{'&' if '?' in path else '?'}token={SECRET}")
    if name in ("run", "compare"):
        page.wait_for_selector("body[data-tested]", timeout=120_000)
    page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true; })")
    assert problems(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.locator("h1").count() == 1 and page.locator("main").count() == 1
    page.screenshot(path=str(tmp_path / f"{name}-{width}-{scheme}.png"))
    context.close()


def test_the_first_screen_of_a_run_needs_no_scrolling(chromium: Any, viewer: Viewer, first: str) -> None:
    with opened(chromium, viewer, f"/runs/{first}", width=1440) as page:
        page.wait_for_selector("body[data-tested]", timeout=120_000)
        ends = "all => all.map(e => e.getBoundingClientRect().bottom)"
        for what in (".first .sentence", ".first .short-forest", ".first .first-foot > p:first-child"):
            (end,) = page.locator(what).evaluate_all(ends)
            assert end <= 900, what


def test_a_static_copy_begins_with_the_first_screen(chromium: Any, runs: Path, tmp_path: Path) -> None:
    assert command(["view", str(runs / "second"), "--bundle", str(tmp_path / "copy")]) == 0
    page = chromium.new_page(viewport={"width": 1440, "height": 900})
    messages: list[str] = []
    page.on("console", lambda message: messages.append(message.text))
    page.goto(next((tmp_path / "copy").glob("second*/index.html")).as_uri())
    assert page.evaluate("document.querySelector('.first').getBoundingClientRect().top") < 90
    assert page.locator("footer code").inner_text() == "countenance view" and messages == []
    page.close()


def test_from_the_list_to_the_pictures_of_the_worst_group(chromium: Any, viewer: Viewer) -> None:
    with opened(chromium, viewer, "/") as page:
        assert "token" not in page.url
        page.get_by_role("link", name=re.compile("^drawn-faces")).first.click()
        page.wait_for_selector("body[data-tested]", timeout=120_000)
        page.locator(".worst a").first.click()
        page.wait_for_selector("#gallery img")
        shown = page.locator("#gallery img").first
        page.wait_for_function("image => image.complete && image.naturalWidth > 0", arg=shown.element_handle())
        assert page.locator("#gallery .overlay").count() > 0
        page.locator(".tile").first.click()
        assert page.locator(".stage .overlay rect.truth").count() >= 1


def test_estimates_come_before_the_tests(chromium: Any, viewer: Viewer, first: str) -> None:
    asked = query(by="age_group", metric="recall@0.75", depth="1")
    with opened(chromium, viewer, f"/runs/{first}?{asked}", java_script_enabled=False) as page:
        assert page.locator("table.forest a.rows").count() >= 4
        assert page.get_by_text("Testing…").is_visible()
        counted = page.locator(".first .sentence")
        assert " of " in counted.inner_text() and page.locator(".first .dots, .first .tile img").first.is_visible()
        assert counted.bounding_box()["y"] < page.get_by_text("Testing…").bounding_box()["y"] < 900
        page.get_by_role("link", name="Show the tests").click()
        assert page.locator("#findings").count() == 1
    with opened(chromium, viewer, f"/runs/{first}?{asked}") as page:
        page.wait_for_selector("body[data-tested]", timeout=120_000)
        page.locator("summary", has_text="All findings").click()
        page.get_by_label("Search").fill("31")
        assert "of" in (page.locator("#f-count").text_content() or "")


def test_the_address_is_the_state(chromium: Any, viewer: Viewer, first: str) -> None:
    with opened(chromium, viewer, f"/runs/{first}") as page:
        page.locator("details.settings > summary").click()
        for name in ("skin_tone", "age_group"):
            page.locator(f'input[name="by"][value="{name}"]').uncheck()
        page.locator('input[name="where"]').last.fill("skin_tone=monk_9,monk_10")
        page.get_by_label("Adjustment").select_option("holm")
        page.get_by_role("button", name="Compare", exact=True).click()
        page.wait_for_selector("body[data-tested]", timeout=120_000)
        assert "where=skin_tone%3Dmonk_9" in page.url
        assert page.locator("table.forest tbody tr:not(.block)").count() >= 2
        again = page.url
        page.goto(again)
        assert not page.locator('input[name="by"][value="skin_tone"]').is_checked()
        assert page.locator('input[name="where"]').first.input_value() == "skin_tone=monk_9,monk_10"


def test_keys_move_zoom_and_turn_pages(chromium: Any, viewer: Viewer, first: str) -> None:
    with opened(chromium, viewer, f"/runs/{first}/samples?show=all&size=24") as page:
        page.keyboard.press("ArrowRight")
        page.keyboard.press("ArrowRight")
        assert page.evaluate("Array.from(document.querySelectorAll('.tile')).indexOf(document.activeElement)") == 1
        page.keyboard.press("n")
        page.wait_for_url("**page=2**")
        page.keyboard.press("p")
        page.wait_for_function("() => document.body.textContent.includes('page 1 of')")
        page.locator(".tile").nth(1).focus()
        page.keyboard.press("Enter")
        page.wait_for_selector(".stage")
        before = page.url
        page.wait_for_load_state("load")  # keys work when the script has run
        page.keyboard.press("+")
        page.wait_for_function("() => document.querySelector('.zoomable').style.width === '150%'")
        page.keyboard.press("0")
        page.keyboard.press("t")
        assert page.locator('[data-toggle="truth"]').get_attribute("aria-pressed") == "false"
        assert page.locator(".overlay .truth").first.evaluate("e => getComputedStyle(e).visibility") == "hidden"
        page.keyboard.press("ArrowRight")
        page.wait_for_function(f"() => location.href !== {before!r}")
        page.wait_for_load_state("load")
        page.keyboard.press("Escape")
        page.wait_for_selector("#gallery")


def test_escape_closes_what_is_open_around_the_focus(chromium: Any, viewer: Viewer, first: str) -> None:
    with opened(chromium, viewer, f"/runs/{first}/samples?show=all") as page:
        page.locator(".save summary").click()
        page.locator(".save").get_by_label("Name").focus()
        page.keyboard.press("Escape")
        page.wait_for_function("() => !document.querySelector('.save').open")
        assert page.evaluate("document.activeElement.parentElement.className") == "save"


def test_escape_clears_a_search_before_it_closes_what_is_around(chromium: Any, viewer: Viewer, first: str) -> None:
    with opened(chromium, viewer, f"/runs/{first}") as page:
        page.wait_for_selector("body[data-tested]", timeout=120_000)
        page.locator("summary", has_text="All findings").click()
        search = page.locator("#f-text")
        search.fill("monk")
        search.press("Escape")
        assert search.is_visible() and search.input_value() == ""
        search.press("Escape")
        assert search.is_hidden()


def test_faces_of_the_list_say_loading_until_they_are_drawn(chromium: Any, viewer: Viewer) -> None:
    page = chromium.new_page()
    waiting: list[Any] = []
    page.route("**/faces/*", lambda route: waiting.append(route))
    page.goto(f"{viewer.url}/?token={SECRET}", wait_until="domcontentloaded")
    face = page.locator(".card-faces .picture").first
    face.wait_for()
    assert "loading" in face.evaluate("place => getComputedStyle(place, '::before').content")
    assert (
        face.evaluate(CONTRAST) >= 4.5
        and face.locator("img").evaluate("image => getComputedStyle(image).backgroundColor") == "rgba(0, 0, 0, 0)"
    ), "the word can be seen behind the picture"
    while not waiting:
        page.wait_for_timeout(50)
    page.close()


CLEAR = '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"></svg>'
"""A picture through which one sees what lies behind it."""

CONTRAST = """place => {
  const light = colour => colour.match(/[0-9.]+/g).slice(0, 3).map(part => part / 255)
    .map(part => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4)
    .reduce((sum, part, at) => sum + part * [0.2126, 0.7152, 0.0722][at], 0);
  const pair = [getComputedStyle(place, "::before").color, getComputedStyle(place).backgroundColor].map(light);
  return (Math.max(...pair) + 0.05) / (Math.min(...pair) + 0.05);
}"""
"""How well the word behind a picture can be read, as WCAG computes it; axe does not look at generated text."""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_slow_picture_says_loading_until_it_is_drawn(chromium: Any, viewer: Viewer, first: str, scheme: str) -> None:
    context = chromium.new_context(viewport={"width": 1280, "height": 900}, color_scheme=scheme, bypass_csp=True)
    page = context.new_page()
    requests: list[Any] = []
    page.route("**/thumbnails/*", lambda route: requests.append(route))
    page.goto(f"{viewer.url}/runs/{first}/samples?show=all&token={SECRET}", wait_until="domcontentloaded")
    page.add_style_tag(content=".overlay { display: none; } .wordless::before { visibility: hidden; }")
    first_two = [page.locator("#gallery .picture").nth(number) for number in range(2)]
    addresses = [viewer.url + str(place.locator("img").get_attribute("src")) for place in first_two]
    while not set(addresses) <= {route.request.url for route in requests}:
        page.wait_for_timeout(50)
    (clear, unreadable), routes = first_two, {route.request.url: route for route in requests}

    for place in first_two:
        assert "loading" in place.evaluate("place => getComputedStyle(place, '::before').content")
        assert place.evaluate(CONTRAST) >= 4.5
    assert problems(page) == []
    slow = clear.screenshot()
    clear.evaluate("place => place.classList.add('wordless')")
    wordless = clear.screenshot()
    assert slow != wordless, "the word can be seen"
    clear.evaluate("place => place.classList.remove('wordless')")

    routes[addresses[0]].fulfill(body=CLEAR, content_type="image/svg+xml")
    clear.locator("img.drawn").wait_for()
    drawn_with_word = clear.screenshot()
    clear.evaluate("place => place.classList.add('wordless')")
    assert drawn_with_word == clear.screenshot(), "nothing of the word shows through a transparent picture"
    routes[addresses[1]].abort()
    unreadable.get_by_text("the picture cannot be read").wait_for()
    assert unreadable.evaluate("place => getComputedStyle(place, '::before').content") == "none"
    context.close()


def test_a_new_run_appears_without_a_click(chromium: Any, runs: Path, tmp_path: Path) -> None:
    here = start([tmp_path])
    with opened(chromium, here, "/") as page:
        assert page.get_by_text("make demo").is_visible()
        page.wait_for_timeout(3000)
        shutil.copytree(runs / "second", tmp_path / "late")
        page.wait_for_selector(".run-card")
        assert page.get_by_role("link", name=re.compile("drawn-faces")).is_visible()
    here.close()


def test_views_are_saved_and_deleted_by_hand(chromium: Any, runs: Path, tmp_path: Path) -> None:
    shutil.copytree(runs / "second", tmp_path / "run")
    here = start([tmp_path])
    with opened(chromium, here, f"/runs/{here.id_of('run')}/rows?of=gender&group=female") as page:
        page.get_by_text("Save this view").click()
        page.get_by_label("Name").fill("Frauen")
        page.get_by_role("button", name="Save").click()
        page.get_by_role("link", name="All runs and saved views").click()
        page.get_by_role("link", name="Frauen").click()
        assert "Rows of women" in (page.locator("h1").text_content() or "")
        page.locator(".brand").click()
        page.get_by_role("button", name="Delete Frauen").click()
        page.get_by_text("The view is gone.").wait_for()
    here.close()


def test_hostile_names_do_nothing(chromium: Any, viewer: Viewer) -> None:
    run = viewer.id_of("hostile/run")
    for path in (
        "/",
        f"/runs/{run}",
        f"/runs/{run}/rows",
        f"/runs/{run}/samples?show=all",
        f"/runs/{run}/samples/3",
        f"/runs/{run}/unanswered",
        f"/compare?run={run}",
        f"/runs/{run}/rows?{query(of='skin_tone', group=drawn.HOSTILE[0])}",
        f"/runs/{run}?{query(by='<script>window.pwned=1</script>')}",
    ):
        context = chromium.new_context()
        page = context.new_page()
        blocked: list[str] = []
        page.on("console", lambda message, seen=blocked: seen.append(message.text))
        page.goto(f"{viewer.url}{path}{'&' if '?' in path else '?'}token={SECRET}")
        page.wait_for_timeout(300)
        page.mouse.move(300, 300)
        assert page.evaluate("window.pwned") is None, path
        assert not [one for one in blocked if "Content Security Policy" in one], (path, blocked)
        context.close()


def test_the_policy_stops_what_escaping_would_miss(chromium: Any, viewer: Viewer) -> None:
    context = chromium.new_context()
    page = context.new_page()
    page.goto(f"{viewer.url}/?token={SECRET}")
    page.evaluate(
        "() => { const s = document.createElement('script'); s.textContent = 'window.pwned = 1';"
        " document.body.appendChild(s);"
        " document.body.insertAdjacentHTML('beforeend', '<img src=x onerror=window.pwned=1>'); }"
    )
    page.wait_for_timeout(300)
    assert page.evaluate("window.pwned") is None
    context.close()


def test_another_site_reaches_nothing(chromium: Any, viewer: Viewer, first: str) -> None:
    """A page of another origin, in a browser that has the cookie, tries to read, to send a form and to frame."""
    import http.server
    import threading

    fields = "<input name=name value=x><input name=address value=/>"
    form = f"<form id=f method=post action='{viewer.url}/views'>{fields}</form>"
    content = f"<!doctype html><iframe src='{viewer.url}/'></iframe>{form}".encode()

    class Evil(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *words: object) -> None:
            pass

    evil = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Evil)
    threading.Thread(target=evil.serve_forever, daemon=True).start()
    context = chromium.new_context()
    page = context.new_page()
    page.goto(f"{viewer.url}/?token={SECRET}")
    page.goto(f"http://localhost:{evil.server_port}/")
    read = page.evaluate(
        f"() => fetch('{viewer.url}/api/runs', {{credentials: 'include'}}).then(a => a.text()).catch(e => 'refused')"
    )
    assert read == "refused"
    assert page.frames[1].evaluate("document.body ? document.body.textContent : ''").find("drawn-faces") < 0
    with page.expect_navigation():
        page.evaluate("document.getElementById('f').submit()")
    assert "Refused" in (page.locator("body").text_content() or "") or "token" in (
        page.locator("body").text_content() or ""
    )
    assert {"name": "x", "address": "/"} not in viewer.ask("/api/views").json()
    context.close()
    evil.shutdown()
    evil.server_close()


NAMES = {"ä": "größer als die übrigen Straßenlampen", "ar": "النساء", "he": "נשים מבוגרות"}


def test_german_and_right_to_left_names_stay_in_their_place(chromium: Any, tmp_path: Path) -> None:
    import csv

    boxes = drawn.make_dataset(tmp_path / "data", people=90, each=1)
    with (tmp_path / "data" / "labels.csv").open(newline="", encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    for number, row in enumerate(rows):
        row["gender"] = list(NAMES.values())[number % 3]
    with (tmp_path / "data" / "labels.csv").open("w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    run: Run = evaluate(
        drawn.Detector(boxes), "face_localization", str(tmp_path / "data"), out=tmp_path / "run", batch=32
    )
    store_audit(run, audit_run(run, by=["gender"], min_n=5, adjust="holm"))
    here = start([tmp_path / "run"])
    name = here.id_of("run")
    with opened(chromium, here, f"/runs/{name}/samples?show=all", width=390) as page:
        for value in NAMES.values():
            assert page.locator("bdi", has_text=value).first.is_visible()
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        page.get_by_role("link", name=re.compile(NAMES["ar"])).first.click()
        assert NAMES["ar"] in (page.locator("h1").text_content() or "")
    here.close()
