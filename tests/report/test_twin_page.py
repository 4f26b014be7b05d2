"""The page with the twin ladders of several runs."""

import itertools
import re
from pathlib import Path

import pytest

import countenance as ct
from countenance.data import load_dataset
from countenance.report.album import Album
from countenance.report.first_screen import first_screen
from countenance.report.ladder import ladders
from countenance.report.names import Names
from countenance.report.source import TableSource
from countenance.report.twin_page import write_twin_page


class BrightFaces:
    """Finds a face in the middle of every picture but those of which the mean is dark."""

    name = "by-brightness"

    def __call__(self, images):
        whole = [[0, 0, image.shape[1], image.shape[0]] for image in images]
        return [ct.Boxes([box] if image.mean() > 100 else [], None) for box, image in zip(whole, images, strict=True)]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> ct.Run:
    out = tmp_path_factory.mktemp("twins") / "run"
    run = ct.evaluate(BrightFaces(), "face_localization", load_dataset("people:twins")[:190], out=out, workers=1)
    ct.audit(run)
    return run


@pytest.mark.parametrize("change", ["skin_tone", "age"])
def test_every_model_is_shown_by_the_change_that_is_asked_for(run: ct.Run, tmp_path: Path, change: str) -> None:
    page = write_twin_page([run, run], tmp_path / "index.html", change=change).read_text(encoding="utf-8")
    headline = re.sub(r"\s+", " ", re.search(r"<h1>(.*?)</h1>", page, re.DOTALL)[1])
    assert headline.count(change.replace("_", " ") + " alone") == 2


def test_a_ladder_that_shows_nothing_for_sure_says_so(run: ct.Run, tmp_path: Path) -> None:
    page = write_twin_page([run], tmp_path / "index.html", change="skin_tone").read_text(encoding="utf-8")
    assert "So few may be chance" in page or "Nobody in these twins is lost" in page


CHANGES = {
    "skin_tone": (["monk_3"], ["monk_10"], "skin tone: Monk 10 (darkest)", ["Monk 3", "Monk 10"]),
    "gender": (["male"], ["female"], "gender: female", ["female", "male"]),
    "age": (
        [30.5 + i for i in range(30)],
        [70.25 + i for i in range(30)],
        "made older",
        ["youngest copy", "oldest copy"],
    ),
    "distance": ([1 + i / 64 for i in range(30)], [5 + i / 64 for i in range(30)], "farther away", None),
    "mask": (["none"], ["blue", "white", "pink"], "with a mask", ["without a mask", "with a mask"]),
    "expression": (["smile", "neutral"], ["fear", "frown", "wink"], "with another expression", None),
    "headwear": (["none"], ["cap", "hat", "hood"], "with headwear", ["bareheaded", "with headwear"]),
    "hair": (["bun", "bob"], ["afro", "locs", "wavy"], "with other hair", ["unchanged", "with other hair"]),
    "light": (["even"], ["sun", "dusk", "flash"], "in other light", ["in even light", "in other light"]),
    "glasses": (["none"], ["clear"], "with clear glasses", ["without glasses", "with clear glasses"]),
    "sunglasses": (None, None, "with sunglasses", ["unchanged", "with sunglasses"]),
    "blur": (None, None, "blurred", ["unchanged", "blurred"]),
    "compression": (None, None, "compressed", ["unchanged", "compressed"]),
    "pose": (["frontal"], ["turned"], "with the head turned", ["facing the camera", "with the head turned"]),
    "background": (["room"], ["outdoor"], "outdoors", ["outdoors", "in a room"]),
    "hair_colour_tint": (["a", "b"], ["c", "d", "e"], "hair colour tint changed", None),
}
"""By change: values of bases, values of twins (None: no column holds them), the line and the columns of the ladder."""


def changed_twins(thing: str, before: list[object] | None, after: list[object] | None, people: int = 30) -> dict:
    rows: dict[str, list[object]] = {"identity": [], "base": [], "change": [], "found": []}
    rows |= {thing: []} if before else {}
    for person in range(people):
        for change, values in (("none", before), (thing, after)):
            rows["identity"].append(f"p{person}")
            rows["base"].append(f"b{person}")
            rows["change"].append(change)
            rows["found"].append(int(change == "none" or person > 15))
            if values:
                rows[thing].append(values[person % len(values)])
    return rows


@pytest.mark.parametrize("thing", CHANGES)
def test_every_change_of_twins_reads_well(thing: str) -> None:
    before, after, line, columns = CHANGES[thing]
    rows = changed_twins(thing, before, after)
    audit = ct.audit(rows, None, ["found"], paired_by={"base": "base", "change": "change"})
    source = TableSource(audit, None, rows)
    first = first_screen(source, "The model")
    shown = [entry.label for entry in (*first.who, *first.when)]
    assert shown == [line]
    (ladder,) = ladders(source, Album("off"))
    assert columns is None or [name for _, name in ladder.columns] == columns
    assert len(ladder.columns) == 2 and ladder.totals[-1][1] == 30, "every person stands in both columns"
    names = Names.of(audit)
    for finding in audit.findings:
        for group in (finding.group, finding.versus):
            words = names.who(finding.attribute, group).split()
            assert not any(word == other for word, other in itertools.pairwise(words)), words
            assert "version" not in words and "base" not in words
