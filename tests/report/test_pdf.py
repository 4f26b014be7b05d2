"""The report as PDF and its figures: the page's headline and numbers, one labelled scale, the same bytes every time."""

import re
import sys
import zlib
from pathlib import Path
from typing import ClassVar

import pytest

from countenance.cli.app import run as run_command
from countenance.errors import InputError, MissingExtra
from countenance.report import write_pdf
from countenance.report.charts import forests
from countenance.report.charts.curves import CurveChart, GroupLine
from countenance.report.charts.forest import ForestBlock, ForestRow
from countenance.report.draw.mpl import curve_figure, forest_figures, save
from countenance.report.draw.mpl.forest import MOST_ROWS, parts_of
from countenance.report.draw.mpl.style import drawing, svg_of
from countenance.report.markup import put_markup
from countenance.report.page import context
from countenance.report.paper import Paper, Swatch, rgb
from countenance.report.people_words import MONK
from countenance.report.source import ReportSource
from countenance.run import Run

pytest.importorskip("matplotlib")
pytest.importorskip("fpdf")


RED = (163, 33, 27)
"""The colour of a failed person."""


class Written(Paper):
    """Keeps what is put on the pages, as text."""

    texts: ClassVar[list[str]] = []

    def text(self, text: str, *args: object, **options: object) -> None:
        self.texts.append(text)
        super().text(text, *args, **options)  # type: ignore[arg-type]

    def box(self, kind, badge, headline, lines, after) -> None:  # type: ignore[no-untyped-def]
        self.texts += [badge, headline, *(text for _, text in lines), *after]
        super().box(kind, badge, headline, lines, after)

    def table(self, columns, rows, right) -> None:  # type: ignore[no-untyped-def]
        self.texts += [cell for row in rows for cell in row]
        super().table(columns, rows, right)

    def facts(self, facts) -> None:  # type: ignore[no-untyped-def]
        self.texts += [f"{name} {value}" for name, value in facts]
        super().facts(facts)


def test_the_pdf_says_what_the_page_says(run: Run, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr("countenance.report.pdf.Paper", Written)
    Written.texts = []
    out = write_pdf(run, tmp_path / "report.pdf")
    said, texts = context(ReportSource.of(run), "off"), Written.texts
    assert out.read_bytes().startswith(b"%PDF-") and said["headline"] in texts
    assert f"How sure: {said['first'].how_sure}" in texts
    for number in said["numbers_on_top"]:
        assert number.value in texts and number.interval in texts
    assert any(text.startswith("Run finished 20") for text in texts) and any("countenance 0." in text for text in texts)
    assert any(text.startswith("Licences data: drawn (CC0)") for text in texts)


def test_the_same_run_gives_the_same_bytes(small_run: Run, tmp_path: Path) -> None:
    one, two = (write_pdf(small_run, tmp_path / name).read_bytes() for name in ("a.pdf", "b.pdf"))
    assert one == two


def test_hostile_names_give_a_document(hostile_run: Run, tmp_path: Path) -> None:
    assert write_pdf(hostile_run, tmp_path / "r.pdf").stat().st_size > 10_000


@pytest.mark.parametrize("name, words", [("over 60 & masked", True), ("اسم", False), ("漢字", False)])
def test_the_words_of_a_figure_can_be_searched_where_our_font_has_them_and_they_read_from_left_to_right(
    name: str, words: bool, tmp_path: Path
) -> None:
    with drawing() as figure:
        drawn = figure(figsize=(4, 3))
        drawn.add_subplot().set_yticks([0], [name])
        svg = svg_of(drawn, "sans")
    assert (f">{name.replace('&', '&amp;')}</text>" in svg) is words
    assert ("font-size: 7.5pt; font-family: sans" in svg) is words
    paper = Paper("title", "foot")
    paper.figure(drawn, "alt")
    assert paper.write(tmp_path / "figure.pdf").stat().st_size > 5_000


def test_a_forest_has_every_group_on_one_scale(run: Run) -> None:
    source = ReportSource.of(run)
    metric = source.metrics[0]
    forest = forests(source)[0]
    rows = forest.rows
    groups = sum(len(source.estimates(metric.name, name)) for name in source.names.by)
    assert len(rows) >= groups
    (figure,) = forest_figures(forest)
    (axes,) = figure.axes
    low, high = axes.get_xlim()
    assert axes.get_xlabel() == "faces found" and all(low <= row.low and row.high <= high for row in rows)
    texts = [text.get_text() for text in axes.texts]
    assert all(row.text in texts and row.size in texts for row in rows)


def test_a_long_attribute_goes_on_with_its_name() -> None:
    rows = [ForestRow(str(i), 0.5, 0.4, 0.6, "50 %", "40–60 %", "1 person") for i in range(100)]
    parts = parts_of([ForestBlock("tone", tuple(rows[:3])), ForestBlock("country", tuple(rows)), ForestBlock("", ())])
    labels = [[block.label for block in part] for part in parts]
    assert labels == [["tone"], ["country"], ["country, continued"], ["country, continued", ""]]
    assert all(sum(len(block.rows) + 1 for block in part) <= MOST_ROWS + 1 for part in parts)
    assert [row for part in parts[1:] for block in part for row in block.rows] == rows


@pytest.mark.parametrize(("ending", "start"), [(".svg", b"<svg"), (".png", b"\x89PNG"), (".pdf", b"%PDF")])
def test_figures_as_files_carry_the_licences(run: Run, tmp_path: Path, ending: str, start: bytes) -> None:
    assert run_command(["export", run.place, "--what", "figures", "--out", str(tmp_path / f"f{ending}")]) == 0
    files = sorted(tmp_path.iterdir())
    assert any("groups-recall@0.5" in file.name for file in files)
    content = files[-1].read_bytes()
    inflated = b"".join(
        zlib.decompressobj().decompress(part) for part in re.findall(rb"stream\r?\n(x\x9c.*?)endstream", content, re.S)
    )
    assert content.startswith(start) and b"CC0" in content + inflated


def test_what_cannot_be_written_is_said(run: Run, tmp_path: Path, capsys, monkeypatch) -> None:
    with pytest.raises(InputError, match=r"ends in \.pdf"):
        write_pdf(run, tmp_path / "r.html")
    figure = forest_figures(forests(ReportSource.of(run))[0])[0]
    with pytest.raises(InputError, match=r"ends in \.pdf, \.svg or \.png"):
        save(figure, tmp_path / "f.jpg")
    monkeypatch.setitem(sys.modules, "fpdf", None)
    with pytest.raises(MissingExtra, match=r"countenance\[plots\]"):
        write_pdf(run, tmp_path / "r.pdf")
    assert run_command(["report", run.place, "--pdf", str(tmp_path / "r.pdf")]) == 2


def test_report_writes_a_pdf_and_a_page_where_asked(small_run: Run, tmp_path: Path) -> None:
    assert run_command(["report", small_run.place, "--pdf", str(tmp_path / "r.pdf")]) == 0
    assert [file.name for file in tmp_path.iterdir()] == ["r.pdf"]
    both = ["report", small_run.place, "--pdf", str(tmp_path / "r.pdf"), "--out", str(tmp_path / "r.html")]
    assert run_command(both) == 0 and (tmp_path / "r.html").exists()


def test_a_curve_has_its_marks_its_band_and_space_around_it() -> None:
    x, y = [0.0001, 0.001, 0.01, 1.0], [0.0, 0.0, 0.5, 1.0]
    line = GroupLine("all", 30, x, y, "c0", low=[0, 0, 0.4, 0.9], high=[0.1, 0.1, 0.6, 1])
    figure = curve_figure(CurveChart(("FAR", "VAL"), [line], (True, False), [0.001, 7.0]))
    (axes,) = figure.axes
    drawn = next(one for one in axes.lines if one.get_gid() == "curve-0")
    assert list(drawn.get_xdata()) == x and list(drawn.get_ydata()) == y
    assert [text.get_text() for text in axes.texts] == ["0.001"], "a mark outside the axes is not drawn"
    assert axes.get_xlim()[0] < 0.0001 and axes.get_ylim()[0] < 0 and axes.get_xscale() == "log"
    assert [one.get_gid() for one in axes.collections] == ["band-0"]
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["all (n 30)"]


def test_markup_is_put_on_paper_in_its_order() -> None:
    done: list[tuple[str, object]] = []

    class Kept:
        def text(self, text: str) -> None:
            done.append(("text", text))

        def heading(self, text: str, size: float) -> None:
            done.append(("heading", text))

        def facts(self, facts: list[tuple[str, list[object]]]) -> None:
            done.append(("facts", facts[0]))

        def table(self, columns, rows, right) -> None:  # type: ignore[no-untyped-def]
            done.append(("table", (list(columns), [list(row) for row in rows], right)))

    put_markup(
        Kept(),  # type: ignore[arg-type]
        "<p>One &lt;b&gt; <strong>two</strong>.</p><svg><title>hidden</title></svg><h3>Head</h3><table>"
        "<caption class='hidden'>not shown</caption><thead><tr><th>group</th><th>n</th></tr></thead><tbody>"
        "<tr><th>a<span class='sub'>b</span></th><td>1,204</td></tr><tr><th>short row</th></tr></tbody></table>"
        "<dl><dt>age</dt><dd>in years</dd><dt>tone</dt><dd>Here: "
        "<svg class='swatch'><rect fill='rgb(102,78,65)'/></svg> dark;\n"
        "<svg class='swatch'><rect fill='#c6b49d'/></svg> light.<svg><rect fill='#000000'/></svg></dd></dl>"
        "<ul><li>item</li></ul>",
    )
    assert done == [
        ("text", "One <b> two."),
        ("heading", "Head"),
        ("table", (["group", "n"], [["a b", "1,204"], ["short row"]], "LR")),
        ("facts", ("age", ["in years"])),
        ("facts", ("tone", ["Here: ", Swatch(102, 78, 65), "dark; ", Swatch(198, 180, 157), "light."])),
        ("text", "· item"),
    ]


def test_a_table_has_the_same_report_on_paper(tmp_path: Path, monkeypatch, capsys) -> None:  # type: ignore[no-untyped-def]
    """`audit TABLE --pdf`: the headline, statements, numbers and command of the page, the same bytes every time."""
    import random

    draw = random.Random(0)
    rows = (f"p{k // 2},monk_{k % 10 + 1},{int(draw.random() < (0.4 if k % 10 == 9 else 0.9))}" for k in range(600))
    lines = ["person,tone,right", *rows]
    (tmp_path / "scores.csv").write_text("\n".join(lines) + "\n")
    monkeypatch.setattr("countenance.report.pdf.Paper", Written)
    Written.texts = []
    asked = ["audit", str(tmp_path / "scores.csv"), "--by", "tone", "--metric", "right", "--cluster", "person"]
    asked += ["--adjust", "holm", "--better", "right=higher", "--report", str(tmp_path / "page.html")]
    for name in ("one.pdf", "one again.pdf"):
        assert run_command([*asked, "--pdf", str(tmp_path / name)]) == 0
    page, texts = (tmp_path / "page.html").read_text(encoding="utf-8"), Written.texts
    headline = next(text for text in texts if text.startswith("The model fails "))
    assert headline in page and any(text.startswith("How sure: ") and text[10:] in page for text in texts)
    assert any(text.startswith("Versions countenance") for text in texts)
    one, again = ((tmp_path / name).read_bytes() for name in ("one.pdf", "one again.pdf"))
    assert one.startswith(b"%PDF-") and len(one) > 10_000 and abs(len(one) - len(again)) < 200
    drawn = b"".join(map(zlib.decompress, re.findall(rb"/FlateDecode.*?\nstream\n(.*?)\nendstream", one, re.S)))
    tone, failed = (" ".join(f"{part / 255:.4f}".rstrip("0") for part in colour) for colour in (rgb(MONK[9]), RED))
    assert f"{tone} rg".encode() in drawn, "the colour of Monk 10 stands beside its name"
    assert f"{failed} rg".encode() in drawn and drawn.count(b" c\n") >= 4 * 60, (
        "a dot of four arcs for each of the rows of Monk 10"
    )
    capsys.readouterr()
    assert run_command([*asked, "--pdf", str(tmp_path / "page.txt")]) == 2
    assert ".pdf" in capsys.readouterr().err


def test_a_row_of_one_cell_goes_across_and_words_stay_whole() -> None:
    from countenance.report.paper import widths

    assert widths([["n", "300"], ["rate", "99.7\u202f%"]])[1] > len("99.7 %")
    Written.texts = []
    paper = Written("title", "foot")
    put_markup(
        paper,
        "<table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>2</td></tr>"
        "<tr><td colspan='2'>why the two differ</td></tr></table>",
    )
    assert Written.texts == ["1", "2", "why the two differ"]


def test_long_nouns_are_said_once_in_the_heading(run: Run) -> None:
    source = ReportSource.of(run)
    source.audit.settings["unit"] = "person and image (columns identity and sample, crossed)"
    (forest, *_) = forests(source)
    assert all(len(row.size) < 14 for row in forest.rows) and all(len(block.unit) > 8 for block in forest.blocks)


def test_comparisons_and_leaderboards_have_their_page_on_paper(tmp_path: Path, monkeypatch, capsys) -> None:  # type: ignore[no-untyped-def]
    """`compare --pdf` and `leaderboard --pdf`: the decision, date and versions, the same bytes every time."""
    import json
    import random

    draw = random.Random(0)
    for number, name in enumerate(("v1.csv", "v2.csv", "v3.csv")):
        rows = [f"s{k},monk_{k % 5},{int(draw.random() < 0.6 + 0.1 * number)}" for k in range(300)]
        (tmp_path / name).write_text("\n".join(["sample,tone,ok", *rows]) + "\n")
    tables = [str(tmp_path / name) for name in ("v1.csv", "v2.csv", "v3.csv")]
    monkeypatch.setattr("countenance.report.comparison_pdf.Paper", Written)
    asked = ["--by", "tone", "--metric", "ok", "--better", "ok=higher", "--json", str(tmp_path / "found.json")]
    for command, given in (("compare", tables[:2]), ("compare", tables), ("leaderboard", tables)):
        Written.texts = []
        pages, shown = [tmp_path / name for name in ("one.pdf", "again.pdf")], tmp_path / "page.html"
        assert run_command([command, *given, *asked, "--report", str(shown)]) == 0
        assert f'<rect x="0" width="14" height="14" fill="{MONK[2]}"/>' in shown.read_text(), "the colour of Monk 3"
        for page in pages:
            assert run_command([command, *given, *asked, "--pdf", str(page)]) == 0
        found = json.loads((tmp_path / "found.json").read_text())
        told = " ".join(Written.texts)
        assert all(sentence.partition(" (")[0] in told for sentence in found["decisions"])
        assert "tone = " not in told and "by 0.05" not in told and "of 0.05" not in told
        assert any(re.search(r"From .*v1\.csv \(20\d\d-\d\d-\d\d\)", text) for text in Written.texts)
        assert any(text.startswith("Versions countenance") for text in Written.texts)
        assert pages[0].read_bytes() == pages[1].read_bytes()
    capsys.readouterr()
    assert run_command(["compare", *tables, *asked, "--pdf", str(tmp_path / "page.txt")]) == 2
    assert ".pdf" in capsys.readouterr().err


def test_a_comparison_of_runs_carries_their_licences(small_run: Run, tmp_path: Path) -> None:
    """Every artefact carries the licences of what made it: JSON, page and PDF."""
    from countenance.comparing import compare
    from countenance.report.comparison import write_comparison
    from countenance.report.comparison_pdf import write_comparison_pdf

    found = compare(small_run, small_run, by=[], metrics=["recall@0.5"], names=["a", "b"])
    assert found.settings["licences"]["data: drawn"] == "CC0"
    page = write_comparison(found, [small_run, small_run], tmp_path / "page.html", gallery="off").read_text("utf-8")
    assert "Licences: data: drawn (CC0)" in page
    assert write_comparison_pdf(found, tmp_path / "page.pdf").read_bytes().startswith(b"%PDF-")


def test_the_pdf_of_many_groups_has_those_that_changed_most(tmp_path: Path) -> None:
    from countenance.comparing import compare
    from countenance.report.comparison_pdf import write_comparison_pdf

    town = [f"town {place:02}" for place in range(29) for _ in range(30)]
    old = {"sample": list(range(len(town))), "town": town, "correct": [1] * len(town)}
    new = old | {"correct": [int(index % 5 > 0 or place == "town 00") for index, place in enumerate(town)]}
    found = compare(old, new, by=["town"], metrics=["correct"], adjust="holm")
    content = write_comparison_pdf(found, tmp_path / "page.pdf").read_bytes()
    assert 2 <= len(re.findall(rb"/Type */Page\b", content)) <= 6
