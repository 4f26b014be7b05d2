"""The pages in a real browser, opened from disk: light and dark, narrow and wide, with and without JavaScript."""

import csv
import io
import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.browser import IN_BROWSER, problems

from countenance.data import Dataset
from countenance.report import write_report
from countenance.report.sheet import write_sheet
from countenance.run import Run

pytestmark = IN_BROWSER


@contextmanager
def opened(chromium: Any, path: Path, *, width: int = 1280, opens: bool = True, **options: Any) -> Iterator[Any]:
    """A page from disk; whatever it says on the console, asks of the network or pops up fails the test."""
    context = chromium.new_context(viewport={"width": width, "height": 900}, accept_downloads=True, **options)
    page = context.new_page()
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(f"console {message.type}: {message.text}"))
    page.on("pageerror", lambda error: complaints.append(f"error: {error}"))
    page.on("dialog", lambda dialog: (complaints.append(f"dialog: {dialog.message}"), dialog.dismiss()))
    page.on(
        "request",
        lambda request: (
            None
            if request.url.startswith(("file:", "data:", "blob:"))
            else complaints.append(f"request: {request.url}")
        ),
    )
    page.goto(path.as_uri())
    if opens and options.get("java_script_enabled", True):
        page.evaluate("document.querySelectorAll('details').forEach(fold => { fold.open = true; })")
    elif opens:
        page.locator("summary", has_text="All findings").click()
    yield page
    assert not complaints
    context.close()


def test_a_barrier_would_be_found(chromium: Any, tmp_path: Path) -> None:
    bad = tmp_path / "bad.html"
    grey = "<h1 style='color:#bbb;background:#ccc'>Who can read this?</h1>"
    bad.write_text(f"<!doctype html><html lang=en><title>t</title><main>{grey}</main></html>", encoding="utf-8")
    with opened(chromium, bad) as page:
        assert [problem.split(":")[0] for problem in problems(page)] == ["serious color-contrast"]


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (1280, "dark"), (400, "light")])
def test_the_report_has_no_serious_barrier(
    chromium: Any, short_report: Path, tmp_path: Path, width: int, scheme: str
) -> None:
    with opened(chromium, short_report, width=width, color_scheme=scheme) as page:
        page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true; })")
        assert problems(page) == []
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        shot = tmp_path / f"report-{scheme}-{width}.png"
        page.screenshot(path=str(shot), full_page=True)
        assert shot.stat().st_size > 50_000


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_sheet_has_no_serious_barrier_and_shows_the_truth(
    chromium: Any, drawn: Dataset, tmp_path: Path, scheme: str
) -> None:
    sheet = write_sheet(drawn, tmp_path / "sheet.html", thumbnails=12)
    with opened(chromium, sheet, color_scheme=scheme) as page:
        assert problems(page) == []
        overlay = page.locator(".sheet .overlay").first
        assert overlay.evaluate("e => getComputedStyle(e).opacity") == "0"
        page.get_by_label("Draw the truth on all of them").check()
        assert overlay.evaluate("e => getComputedStyle(e).opacity") == "1"


def column(page: Any, number: int) -> list[str]:
    script = f"rows => rows.filter(r => !r.hidden).map(r => r.cells[{number}].getAttribute('data-v'))"
    found: list[str] = page.locator("#findings-table tbody tr").evaluate_all(script)
    return found


def test_the_findings_are_sorted_by_a_press_of_a_key(chromium: Any, report: Path) -> None:
    with opened(chromium, report) as page:
        head = page.locator("#findings-table th", has=page.get_by_role("button", name="Estimate"))
        button = head.get_by_role("button")
        button.focus()
        page.keyboard.press("Enter")
        up = [float(value) for value in column(page, 6) if value]
        assert up == sorted(up) and head.get_attribute("aria-sort") == "ascending"
        page.keyboard.press("Enter")
        down = [float(value) for value in column(page, 6) if value]
        assert down == sorted(up, reverse=True) and head.get_attribute("aria-sort") == "descending"
        page.get_by_role("button", name="Adjusted p").click()
        assert head.get_attribute("aria-sort") is None
        values = column(page, 11)
        known = [value for value in values if value]
        assert known and values[: len(known)] == known, "those without a p come last"


def test_the_findings_are_filtered_and_the_csv_holds_what_is_shown(chromium: Any, report: Path, run: Run) -> None:
    with opened(chromium, report) as page:
        total = len(column(page, 0))
        page.get_by_label("Metric").select_option("recall@0.5")
        page.get_by_label("Verdict").select_option("served worse")
        shown = len(column(page, 0))
        assert 0 < shown < total
        assert page.locator("#f-count").text_content() == f"{shown} of {total} shown"
        with page.expect_download() as waiting:
            page.get_by_role("link", name="Download as CSV").click()
        text = Path(waiting.value.path()).read_text(encoding="utf-8-sig")
        rows = list(csv.DictReader(io.StringIO(text)))
        assert waiting.value.suggested_filename == "findings.csv"
        assert len(rows) == shown
        assert {(row["metric"], row["verdict"], row["direction"]) for row in rows} == {
            ("recall@0.5", "disparity", "worse")
        }
        page.get_by_label("Verdict").select_option("")
        page.get_by_label("Metric").select_option("")
        page.get_by_label("Search").fill("monk 10 (darkest) × female")
        assert 0 < len(column(page, 0)) < 5


def test_without_javascript_all_text_and_tables_are_there(chromium: Any, report: Path, run: Run) -> None:
    with opened(chromium, report, java_script_enabled=False) as page:
        assert page.get_by_role("heading", level=1).is_visible()
        assert page.locator("#findings-table tbody tr").count() == run.findings().num_rows
        assert page.locator("#findings-table tbody tr").first.is_visible()
        assert not page.locator(".filters").is_visible()
        assert page.locator("table.forest").first.is_visible()
        with page.expect_download() as waiting:
            page.get_by_role("link", name="Download as CSV").click()
        lines = Path(waiting.value.path()).read_text(encoding="utf-8-sig").splitlines()
        assert len(lines) == run.findings().num_rows + 1


def test_tables_scroll_inside_their_own_box_by_keyboard(chromium: Any, report: Path) -> None:
    with opened(chromium, report, width=400) as page:
        box = page.get_by_role("region", name="Table of findings")
        box.focus()
        page.keyboard.press("ArrowRight")
        page.wait_for_function("() => document.activeElement.scrollLeft > 0")
        assert page.evaluate("document.documentElement.scrollLeft") == 0, "the table scrolls, not the page"


def test_the_page_prints(chromium: Any, report: Path, tmp_path: Path) -> None:
    with opened(chromium, report) as page:
        page.emulate_media(media="print")
        paper = page.pdf(path=str(tmp_path / "report.pdf"), format="A4")
        assert paper.startswith(b"%PDF") and len(paper) > 50_000
        assert page.locator(".filters").is_hidden()
        page.set_viewport_size({"width": 700, "height": 1000})  # as wide as A4 between its margins
        rows = page.locator(".handle-rows li:visible")
        cut = "rows => rows.filter(row => [...row.children].some(part => part.offsetHeight > row.offsetHeight)).length"
        assert rows.count() and rows.evaluate_all(cut) == 0, "labels of two lines are not cut"
        widths = page.locator("table.forest td.plot:visible").evaluate_all("cells => cells.map(c => c.offsetWidth)")
        assert widths and min(widths) > 100, "groups are a table with a plot"
        assert page.locator("table.forest thead").first.is_visible()


def test_hostile_names_do_nothing(chromium: Any, hostile_run: Run, tmp_path: Path) -> None:
    page_path = write_report(hostile_run, tmp_path / "hostile.html")
    with opened(chromium, page_path) as page:
        page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true; })")
        assert page.evaluate("window.pwned") is None
        page.get_by_label("Search").fill("<script>")
        page.get_by_label("Metric").select_option(index=1)
        page.get_by_role("button", name="Group").click()
        assert page.evaluate("window.pwned") is None
        assert problems(page) == []


@pytest.mark.parametrize("width", [1440, 768, 390])
def test_the_first_screen_answers_whom_how_many_and_how_sure(chromium: Any, report: Path, width: int) -> None:
    with opened(chromium, report, width=width, opens=False) as page:
        assert page.get_by_role("heading", name="Who", exact=True).is_visible()
        assert page.get_by_role("heading", name="When", exact=True).is_visible()
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        bottom = page.evaluate("document.querySelector('.first').getBoundingClientRect().bottom")
        if width == 1440:
            assert bottom <= 900, "it fits a screen"
            faces = "[...document.images].filter(i => i.naturalWidth && i.getBoundingClientRect().bottom < 900).length"
            assert page.evaluate(faces) >= 4
            assert page.locator(".short-forest .plot").first.bounding_box()["y"] < 900
            clipped = (
                "[...document.querySelectorAll('table')].filter(t => t.offsetWidth > t.parentElement.clientWidth + 1)"
            )
            captions = f"{clipped}.map(t => [t.className, t.offsetWidth, t.textContent.slice(0, 80)])"
            assert page.evaluate(captions) == []
            counts = page.locator("table.forest td.n").evaluate_all("cells => cells.map(cell => cell.offsetHeight)")
            assert counts and max(counts) < 50, "how many there are fits on a line"
        ticks = page.locator(".handle-head .tick text, .short-forest .axis text").evaluate_all(
            "texts => texts.map(text => text.getBoundingClientRect()).filter(box => box.width)"
            ".map(box => [box.left, box.right, box.top])"
        )
        box = page.locator(".handle-rows").first.bounding_box()
        own = [tick for tick in ticks if box["y"] <= tick[2] <= box["y"] + 60]
        assert own and all(box["x"] <= left and right <= box["x"] + box["width"] for left, right, _ in own)
        for before, after in itertools.pairwise(ticks):
            assert before[2] != after[2] or after[0] > before[1], "labels of ticks do not touch"
        if width == 390:
            row = page.locator(".short-forest tbody tr").first
            name, plot = (row.locator(part).bounding_box() for part in ("th", ".plot"))
            assert plot["y"] >= name["y"] + name["height"] - 1 and plot["width"] > 250, "the bar is under the name"
            for part in (".number", ".said"):
                box = row.locator(part).bounding_box()
                assert box["x"] >= 0 and box["x"] + box["width"] <= width


def test_the_handle_moves_by_keyboard_and_every_verdict_follows(chromium: Any, report: Path) -> None:
    with opened(chromium, report, opens=False) as page:
        mark = page.get_by_label("a gap matters from").first
        rows = page.locator(".handle").first.locator("li")
        before = rows.evaluate_all("rows => rows.map(row => row.className)")
        mark.focus()
        for _ in range(200):
            page.keyboard.press("ArrowRight")
        page.wait_for_function("() => document.querySelector('.handle .delta').getAttribute('x1') === '100%'")
        drawn = page.locator(".handle .delta-line").first.bounding_box()
        track = page.locator(".handle .handle-mark").first.bounding_box()
        assert abs(drawn["x"] + drawn["width"] / 2 - track["x"] - track["width"]) <= 1.5, "the mark stands where it is"
        page.wait_for_timeout(400)  # rows out of sight follow when the mark rests
        after = rows.evaluate_all("rows => rows.map(row => row.className)")
        limits = rows.evaluate_all("rows => rows.map(row => JSON.parse(row.dataset.row))")
        most = float(mark.get_attribute("max"))
        for row, was, state in zip(limits, before, after, strict=True):
            assert state == ("untested" if row["few"] else "out" if (row["out"] or 9) < most else was)
        assert "out" in after
        counted = page.locator(".handle").first.locator("[data-count=out]").text_content()
        assert int(counted) == after.count("out")
        mark.evaluate("input => { input.value = 0.01; input.dispatchEvent(new Event('input')); }")
        page.wait_for_function("() => document.querySelector('.handle output').textContent === '1 point'")
