"""The leaderboard: ties, rejection, tables, pages."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

from countenance.errors import InputError
from countenance.suites.bias_bounty.board import Standing, hand_in, rank, table_lines, tied_places
from countenance.suites.bias_bounty.files import ATTRIBUTES, CLASSES, predictions_text, read_labels
from countenance.suites.bias_bounty.page import write_pages


def answers(labels: Path, out: Path, right: float, seed: int) -> Path:
    rng = np.random.default_rng(seed)
    table = read_labels(labels)
    words = []
    for i in range(len(table)):
        row = {}
        for name in ATTRIBUTES:
            code = int(table.codes[name][i])
            guess = int(rng.integers(len(CLASSES[name])))
            row[name] = CLASSES[name][code if code >= 0 and rng.random() < right else guess]
        words.append(row)
    out.write_text(predictions_text(table.names, words))
    return out


def timing(path: Path, seconds: float) -> Path:
    content = {
        "seconds": seconds, "images": 90, "images_per_second": 90 / seconds, "threads": 1, "cores": 2,
        "machine": "one", "peak_memory_mb": 100.0, "passes": [seconds],
    }  # fmt: skip
    path.write_text(json.dumps(content))
    return path


@pytest.fixture(scope="module")
def board(challenge: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("board")
    where = folder / "board"
    for i, (name, kind, right, seconds) in enumerate(
        [("sharp <b>", "supervised", 0.99, 1.0), ("blunt", "supervised", 0.2, 2.0), ("blind", "unsupervised", 0.1, 3.0)]
    ):
        name = name.replace("<b>", "one")
        test = answers(challenge / "test" / "labels.csv", folder / f"t{i}.csv", right, i)
        holdout = answers(challenge / "holdout" / "labels.csv", folder / f"h{i}.csv", right, i + 9)
        hand_in(where, name, kind, challenge, test=test, holdout=holdout, timing=timing(folder / f"{i}.json", seconds))
    broken = where / "broken"
    broken.mkdir()
    (broken / "submission.json").write_text('{"kind": "supervised", "score": 99}')
    (broken / "test.csv").write_text("name,skin_tone,gender,age\nh000.png,monk_1,male,<script>\n")
    return where


def standing(name: str) -> Standing:
    return Standing(name, "supervised", None)  # type: ignore[arg-type]


def test_overlapping_intervals_tie_and_a_chain_does_not() -> None:
    rows = [(standing("a"), 9.0, 8.0, 10.0), (standing("b"), 7.5, 6.5, 8.5), (standing("c"), 6.0, 5.0, 7.0)]
    places = tied_places(rows)
    assert [(p.standing.name, p.rank, p.tied) for p in places] == [("a", 1, True), ("b", 1, True), ("c", 3, False)]


def test_entries_are_ranked_in_their_tables(board: Path, challenge: Path) -> None:
    found = rank(board, challenge, replicates=300)
    assert [p.standing.name for p in found.places("public", ("supervised",))] == ["sharp one", "blunt"]
    assert [p.standing.name for p in found.places("private", ("unsupervised",))] == ["blind"]
    best = found.places("private")[0].standing
    assert best.private is not None
    assert best.score2 == pytest.approx(best.private.score1 * best.private.multiplier * best.efficiency)


def test_a_submission_that_cannot_be_scored_is_rejected_by_name(board: Path, challenge: Path) -> None:
    found = rank(board, challenge, replicates=300)
    assert set(found.rejected) == {"broken"}
    assert "missing names: 35" in found.rejected["broken"]
    assert any(line.startswith("rejected broken") for line in table_lines(found))


def test_few_entries_are_told_that_the_top_tier_is_empty(board: Path, challenge: Path) -> None:
    assert any("fewer than 10" in note for note in rank(board, challenge, replicates=300).notes)


def test_a_claimed_score_is_never_used(board: Path, challenge: Path) -> None:
    file = board / "blunt" / "submission.json"
    content = json.loads(file.read_text())
    file.write_text(json.dumps(content | {"score": 15.9}))
    found = {s.name: s for s in rank(board, challenge, replicates=300).standings}
    assert found["blunt"].public.score1 == pytest.approx(content["score"])


def test_the_pages_stand_alone_and_escape_what_they_show(board: Path, challenge: Path, tmp_path: Path) -> None:
    found = rank(board, challenge, replicates=300)
    index = write_pages(found, challenge, tmp_path / "leaderboard.html", pictures=True)
    pages = [index, *sorted((tmp_path / "leaderboard-entries").iterdir())]
    assert len(pages) == 4
    for page in pages:
        text = page.read_text()
        assert "<script>'" not in text
        assert not re.search(r"""(src|href)=["'](https?:)?//""", text)
        assert "http://" not in text.replace("http://www.w3.org", "")
    text = index.read_text()
    assert "&lt;script&gt;" in text  # the broken entry's class, shown as text
    for link in re.findall(r'href="(leaderboard-entries/[^"]+)"', text):
        assert (tmp_path / link).exists()
    assert "data:image/jpeg" in pages[1].read_text()


def test_real_people_are_not_shown_unless_asked(board: Path, challenge: Path, tmp_path: Path) -> None:
    found = rank(board, challenge, replicates=300)
    write_pages(found, challenge, tmp_path / "l.html")
    assert all("data:image" not in page.read_text() for page in (tmp_path / "l-entries").iterdir())


def test_an_entry_of_the_same_name_needs_replace(board: Path, challenge: Path) -> None:
    test = board / "blunt" / "test.csv"
    with pytest.raises(InputError, match="--replace"):
        hand_in(board, "blunt", "supervised", challenge, test=test)
    with pytest.raises(InputError, match="letters, digits"):
        hand_in(board, "../blunt", "supervised", challenge, test=test)


def test_an_empty_board_is_refused(challenge: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no submissions"):
        rank(tmp_path, challenge)
