"""Words that pages and messages do not use, each with the word that is used instead.

Checked are the pages of the documentation, those at the root, and every string of the source, docstrings too.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "countenance"
INSTEAD = {
    # sentences of the first reports
    r"fails some people more than others": "whom it misses most, in counts",
    r"share of faces that some box overlaps": "faces found (…)",
    r"share of the overlap thresholds": "how tightly the box fits, 0 to 1",
    r"if nobody were served differently": "if the model treated everyone alike",
    r"\bindependent unit:": "… pictures of … people; pictures of one person are counted together",
    r"\bfavoured\b": "served better",
    r"the dashed line everybody together": "dashed line: everyone",
    r"that a disparity puts behind": "groups that do worse",
    r"cannot be said of one picture alone": "measures that need all pictures at once",
    r"smallest gap this n shows": "smallest gap we could see",
    r"images without an answer": "images without a prediction",
    r"who looks often enough": "test often enough and chance will hand you a finding",
    r"failures of everybody": "all failures",
    r"in the order of the table": "in file order",
    r"of a person with themselves that are refused": "true matches refused",
    r"similaritys": "comparisons",
    r"went from wrong to right": "… got better, … got worse",
    r"a thick bar joins": "models joined by a bar cannot be told apart",
    r"if it is as it looks, it takes": "undecided with … people",
    r"no stand-in for real people": "these people are computer-rendered",
    r"worded by outcome": "changelog",
    r"makes? its results again|\bresults made again": "recomputes its results",
    r"goes on (where it stopped|from here)": "resumes",
    # archaic turns
    r"\banew\b": "again",
    r"\bof one's own\b": "own, custom",
    r"\bmend(s|ed)?\b": "fix, fixed",
    r"(?<!there )\b(?-i:is none)\b": "there is no …, is not a …",
    r"\b(thereof|(where|there)(in|by)|hereby|hitherto|forthwith|amongst|whilst|[wt]hence)\b": "plain words",
    r"\bheld against\b": "compared with",
    r"\bare told\b|\bis told\b": "is reported, is printed",
    # metaphors
    r"\bcitizens?\b": "part",
    r"\b(has|have|no|finding) room\b": "space, memory, free CPUs",
    r"\b(high|long) road\b|\bon the road\b": "way, procedure",
}
"""A pattern, and what is written instead."""
CODES = {"favoured": "a code of style sheets; pages say 'served better'"}
"""Whole strings that are codes, never shown."""


def pages() -> list[Path]:
    """The pages of the site, without lab diaries and decisions of the past, and those at the root."""
    folders = ("lab", "design")
    site = [page for page in sorted((ROOT / "docs").rglob("*.md")) if page.parent.name not in folders]
    return [*site, *sorted(ROOT.glob("*.md"))]


def strings(path: Path) -> Iterator[tuple[int, str]]:
    """The strings of a module with their lines: messages, docstrings and sentences on attributes."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value


def complaints(text: str) -> list[str]:
    """The words of a text that are not used, with those that are."""
    plain = " ".join(text.split())
    return [f"{match[0]!r}: {better}" for bad, better in INSTEAD.items() for match in re.finditer(bad, plain, re.I)]


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_uses_the_words_of_the_glossary(page: Path) -> None:
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    assert complaints(text) == []


def test_messages_and_pages_of_the_package_use_them_too() -> None:
    problems = [
        f"{path.relative_to(SOURCE)}:{line}: {complaint}"
        for path in sorted(SOURCE.rglob("*.py"))
        for line, text in strings(path)
        if text not in CODES
        for complaint in complaints(text)
    ]
    assert problems == []


def test_templates_use_them_too() -> None:
    code = re.compile(r"\{[#%{].*?[#%}]\}|class=\"[^\"]*\"", re.DOTALL)
    problems = {
        path.name: complaints(code.sub("", path.read_text(encoding="utf-8"))) for path in sorted(SOURCE.rglob("*.j2"))
    }
    assert len(problems) > 10 and {name: words for name, words in problems.items() if words} == {}


def test_a_word_that_is_not_used_is_seen() -> None:
    assert complaints("The run goes on\n where it stopped.") == ["'goes on where it stopped': resumes"]
    assert complaints("The run resumes.") == []


def test_the_glossary_has_each_word_once_and_in_order() -> None:
    text = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
    _, *rows = [line.split("|")[1].strip() for line in text.splitlines() if line.startswith("| ")]
    words = [word.strip() for row in rows for word in row.split(",")]
    assert len(words) == len(set(words))
    assert rows == sorted(rows, key=lambda row: row.removeprefix("δ (").casefold())
