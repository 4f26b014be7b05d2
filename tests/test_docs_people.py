"""Figures of the docs that rest on the embedded people are those that `make results` wrote."""

import importlib.util
import json
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
spec = importlib.util.spec_from_file_location("people_results", ROOT / "tools" / "people_results.py")
results = importlib.util.module_from_spec(spec)
spec.loader.exec_module(results)
FOUND = json.loads((ROOT / "docs" / "results" / "people.json").read_text(encoding="utf-8"))
MARKED = [page for page in results.PAGES if results.shown_on((ROOT / page).read_text(encoding="utf-8"))]


def text(page: str) -> str:
    return (ROOT / page).read_text(encoding="utf-8")


def test_pages_have_marked_blocks() -> None:
    assert {"README.md", "docs/verification.md", "docs/suites/uccs.md", "docs/suites/bias_bounty.md"} <= set(MARKED)


@pytest.mark.parametrize("page", MARKED)
def test_a_page_shows_what_its_commands_printed(page: str) -> None:
    shown = results.shown_on(text(page))
    assert [one.command for one in shown] == [one["command"] for one in FOUND[page]]
    wrong = [results.not_printed(one.lines, kept["lines"]) for one, kept in zip(shown, FOUND[page], strict=True)]
    assert not any(wrong), wrong


def number(name: str, run: int = 0) -> dict:
    """One number of everybody, of the runs of the page on verification: 0 verification, 1 identification."""
    results = FOUND["docs/verification.md"][run]["results"]
    (found,) = [one for one in results if one["name"] == name and one["group"] is None]
    return found


def shown(one: dict, digits: int) -> str:
    if one["bound"]:
        return f"{one['bound']} {one['value']:.{digits}f}"
    return f"{one['value']:.{digits}f} [{one['low']:.{digits}f}, {one['high']:.{digits}f}]"


def test_the_table_of_verification() -> None:
    page = text("docs/verification.md")
    rows = {
        "FMR": shown(number("FMR"), 4),
        "FNMR": shown(number("FNMR"), 3),
        "EER": shown(number("EER"), 3),
        "FNMR at an FMR of 0.1 / 0.001": f"{shown(number('FNMR@FMR=0.1'), 3)} / {shown(number('FNMR@FMR=0.001'), 3)}",
    }
    for name, cell in rows.items():
        assert f"| {name} | {cell} |" in page, (name, cell)
    assert f"{number('FMR')['n']:,} impostor pairs" in page
    assert f"{number('FNMR')['n']:,} genuine pairs" in page
    words = " ".join(page.split())
    for name in ("FPIR", "FNIR", "rank-1"):
        assert f"{name} {shown(number(name, 1), 3)}" in words


@pytest.mark.parametrize("entry", ["baseline", "better", "unsupervised"])
def test_the_table_of_bounty_entries(entry: str) -> None:
    (row,) = [line for line in text("docs/suites/bias_bounty.md").splitlines() if line.startswith(f"| **{entry}** |")]
    cells = [cell.strip() for cell in row.strip("|").split("|")]
    public, holdout = FOUND["bounty"][entry]["test"], FOUND["bounty"][entry]["holdout"]
    wanted = [f"{one['score1']:.2f} [{one['interval'][0]:.2f}, {one['interval'][1]:.2f}]" for one in (public, holdout)]
    wanted.append(f"{holdout['score1_faces_alone']:.2f}")
    rates = zip(holdout["accuracy"].values(), holdout["disparity"].values(), strict=True)
    wanted += [f"{accuracy:.3f} / {disparity:.3f}" for accuracy, disparity in rates]
    wanted.append(f"×{holdout['multiplier']:.3f}")
    assert cells[1:8] == wanted


TITLES = {"smile+tone": "smile + skin tone (`smile+tone`)"}


@pytest.mark.parametrize("pair", results.PAIRS)
def test_the_table_of_pairs_of_features(pair: str) -> None:
    title = TITLES.get(pair, pair.replace("+", " + "))
    (row,) = [line for line in text("docs/suites/happyfaces.md").splitlines() if line.startswith(f"| {title} |")]
    cells, found = [cell.strip() for cell in row.strip("|").split("|")], FOUND["pairs"][pair].values()
    if all(one["answered"] for one in found):
        assert cells[2] == ", ".join(f"{one['validation']:.3f}".removeprefix("0") for one in found)
    else:
        assert cells[2] == "no answer"


def test_the_table_of_real_networks() -> None:
    page, found = text("docs/people.md"), FOUND["networks"]
    identity = found["identity"]
    for row, area in (
        ("dlib embedding, same against different", identity),
        ("the same, aligned", identity["aligned"]),
        ("aligned, both without glasses", identity["aligned"]["without glasses"]),
        ("aligned, both frontal", identity["aligned"]["frontal without glasses"]),
        ("aligned, also without headwear", identity["aligned"]["frontal without glasses and headwear"]),
        ("aligned, against strangers with the same hair", identity["aligned"]["strangers of the same hair"]),
        (
            "aligned, against strangers of the same tone",
            identity["aligned"]["strangers of the same tone, gender and age group"],
        ),
    ):
        (line,) = [line for line in page.splitlines() if line.startswith(f"| {row}")]
        assert line.endswith(f"| AUC {area['auc']:.3f} |".replace("0.", ".")), line
    seen = [found["mtcnn"][kind] for kind in ("unmasked frontal", "unmasked turned", "masked")]
    assert " / ".join(f"{one['found']:.1%} of {one['n']}".replace("%", " %") for one in seen) in page
