"""Tables of the terminal have groups in their own order: monk_2 before monk_10."""

import random
import re

import pytest

from countenance.cli.app import run as command

TONES = [f"monk_{k}" for k in range(1, 12)]


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Two models' scores of the same rows; one tone has too few."""
    folder, draw = tmp_path_factory.mktemp("order"), random.Random(0)
    made = []
    for name in ("old", "new"):
        lines = ["sample,subject,skin_tone,age,right"]
        for k in range(1000):
            tone = TONES[k % 10] if k else "monk_11"
            lines.append(f"s{k},0,{tone},{k % 90},{int(draw.random() < 0.8)}")
        path = folder / f"{name}.csv"
        path.write_text("\n".join(lines) + "\n")
        made.append(str(path))
    return made


def groups(text: str, word: str) -> list[str]:
    return re.findall(word, text)


def test_an_audit(tables: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    command(
        ["audit", tables[0], "--by", "skin_tone,age:9,18,65", "--metric", "right", "--depth", "1", "--adjust", "holm"]
    )
    text = capsys.readouterr().out
    assert groups(text.partition("metric ")[2].partition("left out")[0], r"skin_tone = (monk_\d+) ") == TONES
    assert groups(text, r"age = (\S+)  ") == ["<9", "9–17", "18–64", "65+"]


def test_a_comparison_and_a_leaderboard(tables: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["--by", "skin_tone", "--metric", "right", "--pair", "sample,subject", "--adjust", "holm"]
    command(["compare", *tables, *asked])
    changes, _, gaps = capsys.readouterr().out.partition("gaps (")
    for part in (changes, gaps):
        found = list(dict.fromkeys(groups(part.partition("metric ")[2], r"skin_tone = (monk_\d+)")))
        assert len(found) >= 10 and found == [tone for tone in TONES if tone in found]
    command(["leaderboard", *tables, *asked[:-2]])
    (head,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith("rank")]
    found = groups(head, r"skin_tone = (monk_\d+)")
    assert len(found) >= 10 and found == [tone for tone in TONES if tone in found]
