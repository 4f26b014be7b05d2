"""The leaderboard: ranks, prizes, rejection, tables, pages."""

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from countenance.cli import app
from countenance.data.adapters.bias_bounty_files import (
    ATTRIBUTES,
    CLASSES,
    Truth,
    predictions_text,
    read_labels,
    read_predictions,
)
from countenance.errors import InputError
from countenance.suites.bias_bounty.board import Rules, rank
from countenance.suites.bias_bounty.page import write_pages, write_site
from countenance.suites.bias_bounty.pairing import read_pair, score_difference
from countenance.suites.bias_bounty.printing import table_lines
from countenance.suites.bias_bounty.scoring import Draws, score_files
from countenance.suites.bias_bounty.submissions import BountySubmission, checked_name, code_hash, hand_in, same_code

FEW = Rules(draws=Draws(replicates=300))


def answers(labels: Path, out: Path, right: float, seed: int) -> Path:
    """Predictions that are right about so many; on non-faces of the holdout, whose labels are random, by chance."""
    rng = np.random.default_rng(seed)
    table = read_labels(labels)
    words = []
    for i in range(len(table)):
        row = {}
        for name in ATTRIBUTES:
            code = int(table.codes[name][i])
            guess = int(rng.integers(len(CLASSES[name])))
            is_face = table.names[i].startswith("h") or labels.parent.name != "holdout"
            row[name] = CLASSES[name][code if is_face and code >= 0 and rng.random() < right else guess]
        words.append(row)
    out.write_text(predictions_text(table.names, words))
    return out


@pytest.fixture(scope="module")
def board(challenge: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("board")
    where = folder / "board"
    for i, (name, kind, right) in enumerate(
        [("sharp one", "supervised", 0.99), ("blunt", "supervised", 0.2), ("blind", "unsupervised", 0.1)]
    ):
        test = answers(challenge / "test" / "labels.csv", folder / f"t{i}.csv", right, i)
        holdout = answers(challenge / "holdout" / "labels.csv", folder / f"h{i}.csv", right, i + 9)
        hand_in(where, challenge, BountySubmission(name, kind, test, holdout))
    broken = where / "broken"
    broken.mkdir()
    (broken / "submission.json").write_text('{"kind": "supervised", "score": 99}')
    (broken / "test.csv").write_text("name,skin_tone,gender,age\nh000.png,monk_1,male,<script>\n")
    return where


def test_entries_are_ranked_in_their_tables(board: Path, challenge: Path) -> None:
    found = rank(board, challenge, FEW)
    assert [p.standing.name for p in found.places("public", "supervised")] == ["sharp one", "blunt"]
    assert [p.standing.name for p in found.places("private", "unsupervised")] == ["blind"]
    best = found.places("private")[0].standing
    assert best.private is not None
    second = best.score("private")
    assert second is not None
    assert second.value == pytest.approx(best.private.score1 * best.private.multiplier * best.efficiency)


def test_a_submission_that_cannot_be_scored_is_rejected_by_name(board: Path, challenge: Path) -> None:
    found = rank(board, challenge, FEW)
    assert set(found.rejected) == {"broken"}
    assert "missing names: 35" in found.rejected["broken"]
    assert found.rejected["broken"].startswith("broken/test.csv: "), "the organiser's folders are not published"
    assert any(line.startswith("rejected broken") for line in table_lines(found))


def test_a_rank_is_that_of_the_paired_differences(board: Path, challenge: Path) -> None:
    found = rank(board, challenge, FEW)
    first, second = found.places("public", "supervised")
    assert (first.rank, second.rank, first.tied, second.tied) == (1, 2, False, False)
    assert first.behind is None
    truth = Truth.of_split(challenge, "test")
    pair = read_pair(truth, board / "sharp one" / "test.csv", board / "blunt" / "test.csv")
    told = score_difference(truth, pair, FEW.draws)
    assert second.behind is not None
    assert (second.behind.difference, second.behind.low, second.behind.high) == pytest.approx(
        (told.difference, told.low, told.high)
    )


def test_entries_whose_intervals_overlap_are_ranked_where_their_difference_is_shown(tmp_path: Path) -> None:
    """One entry is the other with every twelfth answer made worse: the intervals overlap, the pair is decided."""
    rng = np.random.default_rng(3)
    names = [f"{i}.png" for i in range(600)]
    truth = [{a: CLASSES[a][int(rng.integers(len(CLASSES[a])))] for a in ATTRIBUTES} for _ in names]
    (tmp_path / "data" / "test").mkdir(parents=True)
    labels = tmp_path / "data" / "test" / "labels.csv"
    labels.write_text(predictions_text(names, truth))
    answers(labels, tmp_path / "good.csv", 0.6, 1)
    said = read_predictions(tmp_path / "good.csv")
    words = []
    for i, right in enumerate(truth):
        row = {a: CLASSES[a][int(said.codes[a][i])] for a in ATTRIBUTES}
        wrong = {a: CLASSES[a][(CLASSES[a].index(right[a]) + 1) % len(CLASSES[a])] for a in ATTRIBUTES}
        words.append(wrong if i % 12 == 0 else row)
    (tmp_path / "worse.csv").write_text(predictions_text(names, words))
    for name in ("good", "worse"):
        given = BountySubmission(name, "supervised", tmp_path / f"{name}.csv")
        hand_in(tmp_path / "board", tmp_path / "data", given)
    first, second = rank(tmp_path / "board", tmp_path / "data", FEW).places("public", "supervised")
    assert first.score.low < second.score.high  # by overlap they would be tied
    assert (first.rank, second.rank) == (1, 2)
    assert second.behind is not None and second.behind.decided


def test_answers_without_an_entry_are_unverified_and_win_nothing(board: Path, challenge: Path) -> None:
    ranked = rank(board, challenge, FEW)
    assert [prize.name for prize in ranked.prizes] == ["first", "second", "third", "best unsupervised"]
    assert all(not prize.winners and "no entry was run here" in prize.why for prize in ranked.prizes)
    assert any("unverified, no prize: blind, blunt, sharp one" in note for note in ranked.notes)
    assert [row.standing.verified for row in ranked.places("private")] == [False] * 3


def test_without_answers_on_the_holdout_no_prize_is_awarded(board: Path, challenge: Path, tmp_path: Path) -> None:
    hand_in(tmp_path / "board", challenge, BountySubmission("one", "supervised", board / "blunt" / "test.csv"))
    ranked = rank(tmp_path / "board", challenge, FEW)
    assert all(not prize.winners for prize in ranked.prizes)
    assert any("first: not awarded, no such entry has answers" in line for line in table_lines(ranked))


def test_labels_of_the_holdout_are_no_answers(board: Path, challenge: Path, tmp_path: Path) -> None:
    """Non-faces have random labels: whoever names them has read them."""
    files = [board / "sharp one" / "test.csv", challenge / "holdout" / "labels.csv"]
    hand_in(tmp_path / "board", challenge, BountySubmission("copy", "unsupervised", *files))
    ranked = rank(tmp_path / "board", challenge, FEW)
    assert "repeat the skin_tone of 60 of 60 non-faces" in ranked.rejected["copy"]
    assert "score that no model can reach" in ranked.rejected["copy"] and not ranked.standings


def test_a_claimed_score_is_never_used(board: Path, challenge: Path) -> None:
    file = board / "blunt" / "submission.json"
    content = json.loads(file.read_text())
    file.write_text(json.dumps(content | {"score": 15.9}))
    found = {s.name: s for s in rank(board, challenge, FEW).standings}
    assert found["blunt"].public.score1 == pytest.approx(content["score"])


def test_the_pages_stand_alone_and_escape_what_they_show(board: Path, challenge: Path, tmp_path: Path) -> None:
    found = rank(board, challenge, FEW)
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
    entry = pages[1].read_text()
    assert "data:image/jpeg" in entry
    private = entry[entry.index('id="private-failures"') :]
    assert "h0" in private and "n0" not in re.findall(r'class="id">([^<]{2})', private), (
        "no answer on a non-face is wrong"
    )


def test_real_people_are_not_shown_unless_asked(board: Path, challenge: Path, tmp_path: Path) -> None:
    found = rank(board, challenge, FEW)
    write_pages(found, challenge, tmp_path / "l.html")
    assert all("data:image" not in page.read_text() for page in (tmp_path / "l-entries").iterdir())


def test_an_entry_of_the_same_name_needs_replace(board: Path, challenge: Path) -> None:
    test = board / "blunt" / "test.csv"
    with pytest.raises(InputError, match="replace=True"):
        hand_in(board, challenge, BountySubmission("blunt", "supervised", test))
    with pytest.raises(InputError, match="letters, digits"):
        hand_in(board, challenge, BountySubmission("../blunt", "supervised", test))


def test_the_latest_submission_counts_and_the_earlier_ones_are_kept(challenge: Path, tmp_path: Path) -> None:
    files = [
        answers(challenge / "test" / "labels.csv", tmp_path / f"{i}.csv", right, i)
        for i, right in enumerate((0.2, 0.5, 0.99))
    ]
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "main.py").write_text("print(1)\n")
    board = tmp_path / "board"
    for file in files:
        given = BountySubmission("mine", "supervised", file, code=tmp_path / "code")
        score = hand_in(board, challenge, given, replace=True)
    (standing,) = rank(board, challenge, FEW).standings
    assert standing.public.score1 == score.score1 and len(standing.history) == 2
    assert [path.name for path in sorted((board / "mine" / "history").iterdir())] == ["0001", "0002"]
    assert (board / "mine" / "history" / "0001" / "test.csv").read_bytes() == files[0].read_bytes()
    assert not (board / "mine" / "history" / "0002" / "history").exists()
    said = json.loads((board / "mine" / "submission.json").read_text())
    assert said["number"] == 3 and said["submitted"].endswith("+00:00")
    assert said["code_sha256"] == code_hash(tmp_path / "code") == standing.handed.code_sha256
    (tmp_path / "code" / "__pycache__").mkdir()
    (tmp_path / "code" / "__pycache__" / "main.pyc").write_bytes(b"x")
    (tmp_path / "code" / ".DS_Store").write_bytes(b"x")
    assert said["code_sha256"] == code_hash(tmp_path / "code"), "what a folder gathers by itself is no code"
    assert [one.number for one in same_code(board, "mine", tmp_path / "code")] == [1, 2, 3]
    with pytest.raises(InputError, match=r"no submission of this name \(did you mean mine\?\)"):
        same_code(board, "mime", tmp_path / "code")
    (tmp_path / "code" / "main.py").write_text("print(2)\n")
    assert said["code_sha256"] != code_hash(tmp_path / "code")
    assert same_code(board, "mine", tmp_path / "code") == []
    assert [one.number for one in standing.history] == [1, 2]
    assert standing.history[0].score == pytest.approx(score_files(challenge / "test" / "labels.csv", files[0]).score1)
    page = write_pages(rank(board, challenge, FEW), challenge, tmp_path / "l.html")
    (entry,) = (page.parent / "l-entries").iterdir()
    assert said["code_sha256"] in entry.read_text() and "the latest of 3 submissions" in entry.read_text()
    assert f"{standing.history[0].score:.3f}" in entry.read_text()


def test_a_code_that_is_nowhere_is_refused() -> None:
    assert code_hash("0" * 64) == "0" * 64
    with pytest.raises(InputError, match="no such file or folder, and no sha256"):
        code_hash("nowhere")


@pytest.mark.parametrize("name", ["Zoë", "面部识别", "नमस्ते", "أحمد ٢", "Ωmega-1", "می\u200cخواهم"])
def test_names_may_be_in_any_script(name: str, challenge: Path, tmp_path: Path) -> None:
    import unicodedata

    test = answers(challenge / "test" / "labels.csv", tmp_path / "t.csv", 0.9, 0)
    given = BountySubmission(unicodedata.normalize("NFD", name), "supervised", test)
    hand_in(tmp_path / "board", challenge, given)
    found = rank(tmp_path / "board", challenge, FEW)
    assert [standing.name for standing in found.standings] == [unicodedata.normalize("NFC", name)]
    assert name in write_pages(found, challenge, tmp_path / "l.html").read_text()


@pytest.mark.parametrize(
    "name", ["", ".", "..", "a/b", "_timings", "a\x00", "a\u202eb", "x" * 65, "面" * 70, "a ", "-a", "a\n"]
)
def test_names_that_are_none_are_refused(name: str) -> None:
    with pytest.raises(InputError, match="letters, digits"):
        checked_name(name)


def test_public_and_private_pages_can_be_published_apart(board: Path, challenge: Path, tmp_path: Path) -> None:
    found = rank(board, challenge, FEW)
    public = write_pages(found.part("public"), challenge, tmp_path / "public" / "index.html", parts=("public",))
    private = write_pages(found.part("private"), challenge, tmp_path / "private" / "index.html", parts=("private",))
    open_ = "".join(page.read_text() for page in public.parent.rglob("*.html"))
    closed = "".join(page.read_text() for page in private.parent.rglob("*.html"))
    best = next(s for s in found.standings if s.name == "sharp one")
    second = best.score("private")
    assert best.private is not None and second is not None
    assert f"{best.public.score1:.3f}" in open_ and "Public test" in open_
    assert f"{best.private.score1:.3f}" not in open_ and f"{second.value:.3f}" not in open_
    assert "Private holdout" not in open_ and 'id="private"' not in open_ and 'id="prizes"' not in open_
    assert "Private holdout" in closed and "Public test" not in closed and 'id="prizes"' in closed
    for page in [*public.parent.rglob("*.html"), *private.parent.rglob("*.html")]:
        for link in re.findall(r'href="([^"#]+\.html)"', page.read_text()):
            assert (page.parent / link).exists(), "a page set leads nowhere else"


def test_a_site_has_the_table_as_json_and_as_a_feed(board: Path, challenge: Path, tmp_path: Path, capsys) -> None:
    ranked = rank(board, challenge, FEW)
    index = write_site(ranked, challenge, tmp_path / "public", "public")
    names = {path.name for path in index.parent.iterdir()}
    assert names == {"index.html", "index-entries", "board.json", "feed.xml"}
    page, content = index.read_text(), json.loads((index.parent / "board.json").read_text())
    assert 'href="board.json"' in page and 'href="feed.xml"' in page and "Bias Buccaneers" in page
    assert [row["name"] for row in content["tables"]["public"]["all"]] == [
        row.standing.name for row in ranked.places("public")
    ]
    assert "private" not in content["tables"] and not content["prizes"] and not content["notes"]
    assert all(entry["private"] is None and entry["score2"] is None for entry in content["entries"].values())
    entries = ElementTree.fromstring((index.parent / "feed.xml").read_bytes()).findall(
        "{http://www.w3.org/2005/Atom}entry"
    )
    summaries = {entry[1].text: entry.findtext("{http://www.w3.org/2005/Atom}summary") for entry in entries}
    assert set(summaries) == {standing.name for standing in ranked.standings}
    best = ranked.places("public")[0]
    assert f"Score₁ {best.score.value:.3f}" in summaries[best.standing.name]
    assert f"rank 1 of {len(ranked.places('public'))}" in summaries[best.standing.name]
    for standing in ranked.standings:  # also entries that no table ranks can be reached
        assert f">{standing.name}</a>" in page
    # An earlier site is replaced, and nothing of it stays; other folders are refused before the work.
    (index.parent / "index-entries" / "99-old.html").write_text("old")
    write_site(ranked, challenge, tmp_path / "public", "public")
    assert not (index.parent / "index-entries" / "99-old.html").exists()
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "mine.txt").write_text("keep")
    line = ["bias-bounty", "leaderboard", str(board), "--data", str(challenge), "-q"]
    assert app.run([*line, "--public", str(tmp_path / "notes")]) == 2
    assert "not empty and no board site" in capsys.readouterr().err
    site = tmp_path / "x"
    for options in (["--public", site, "--private", site], ["--public", site, "--private", site / "y"]):
        assert app.run([*line, *map(str, options)]) == 2
        assert f"--private {options[-1]} lies in the folder of --public" in capsys.readouterr().err
    for option, place in (("--public", site / "y"), ("--out", site / "board.html")):
        assert app.run([*line, "--private", str(site), option, str(place)]) == 2
        assert f"{option} {place} lies in the folder of --private, {site}; name another" in capsys.readouterr().err
    assert not site.exists()


def test_a_rejection_that_names_the_holdout_is_not_public(challenge: Path, tmp_path: Path) -> None:
    test = answers(challenge / "test" / "labels.csv", tmp_path / "t.csv", 0.9, 0)
    hand_in(tmp_path / "board", challenge, BountySubmission("one", "supervised", test))
    hand_in(tmp_path / "board", challenge, BountySubmission("two", "supervised", test))
    (tmp_path / "board" / "two" / "holdout.csv").write_text("name,skin_tone,gender,age\nsecret.png,monk_1,male,0_17\n")
    found = rank(tmp_path / "board", challenge, FEW)
    assert "secret.png" in found.rejected["two"]
    assert "secret.png" not in found.part("public").rejected["two"]


def test_an_empty_board_is_refused(challenge: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no submissions"):
        rank(tmp_path, challenge)
