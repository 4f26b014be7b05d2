"""The page of a dataset."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from countenance.data import ArrayImage, Dataset, DatasetCard, Sample, Subject
from countenance.report.sheet import write_sheet
from countenance.report.spread import spread_evenly

Reader = Callable[[Path], Any]


def test_the_page_shows_card_counts_balance_and_pictures(drawn: Dataset, tmp_path: Path, read: Reader) -> None:
    page = read(write_sheet(drawn, tmp_path / "sheet.html", thumbnails=20))
    for words in ("CC0", "not needed", "Drawn people are no stand-in", "images 160", "identities 80", "Monk 10"):
        assert words in page.text, words
    pictures = len(page.tags("img"))
    assert 18 <= pictures <= 20  # two of the 160 cannot be read
    assert all(image["src"].startswith("data:image/jpeg;base64,") for image in page.tags("img"))
    assert len([r for r in page.tags("rect") if r.get("class") == "truth"]) == pictures


def test_the_balance_counts_everybody_also_the_unknown(drawn: Dataset, tmp_path: Path, read: Reader) -> None:
    text = read(write_sheet(drawn, tmp_path / "sheet.html", thumbnails=0)).text
    gender = text[text.index("gender Value") :]
    unknown = sum(s.attributes.get("gender") is None for sample in drawn for s in sample.subjects)
    assert unknown and f"unknown {unknown}" in gender


def test_the_page_fetches_nothing_and_is_the_same_every_time(drawn: Dataset, tmp_path: Path, read: Reader) -> None:
    one, two = (write_sheet(drawn, tmp_path / name, thumbnails=8) for name in ("a.html", "b.html"))
    assert one.read_bytes() == two.read_bytes()
    assert all(address.startswith(("#", "data:image/jpeg")) for address in read(one).addresses())


def test_real_people_are_not_shown_unless_asked_for(drawn: Dataset, tmp_path: Path, read: Reader) -> None:
    real = Dataset(drawn.card.model_copy(update={"real_people": True}), drawn.samples)
    hidden = read(write_sheet(real, tmp_path / "hidden.html"))
    assert not hidden.tags("img") and "shows real people, so no picture is shown" in hidden.text
    shown = read(write_sheet(real, tmp_path / "shown.html", thumbnails=4, faces=True))
    assert len(shown.tags("img")) == 4 and "they are shown on request" in shown.text


def test_a_picture_that_cannot_be_read_is_counted_not_hidden(drawn: Dataset, tmp_path: Path, read: Reader) -> None:
    page = read(write_sheet(drawn, tmp_path / "sheet.html", thumbnails=160))
    missing = 160 - len(page.tags("img"))
    assert missing and f"{missing} picture" in page.text and "could not be read" in page.text


def sample(name: str, part: str, **attributes: str) -> Sample:
    pixels = np.full((8, 8, 3), 127, np.uint8)
    person = Subject("0", identity=name, face_box=np.array([1.0, 1, 5, 5]), attributes=attributes)
    return Sample(name, ArrayImage(pixels), 8, 8, (person,), {"part": part})


def test_pictures_are_spread_over_parts_and_values() -> None:
    common = [sample(f"c{i}", "portraits", tone="light") for i in range(50)]
    rare = [sample(f"r{i}", "portraits", tone="dark") for i in range(3)]
    group = [sample(f"g{i}", "groups", tone="light") for i in range(4)]
    chosen = spread_evenly([*common, *rare, *group], 10)
    assert [s.attributes["part"] for s in chosen].count("groups") == 4
    assert sum(s.subjects[0].attributes["tone"] == "dark" for s in chosen) == 3


def test_the_same_person_is_not_shown_twice_while_others_wait() -> None:
    shots = [sample(f"{person}-{shot}", "portraits") for person in range(5) for shot in range(4)]
    people = [Sample(s.id, s.image, 8, 8, (Subject("0", identity=s.id.split("-")[0]),), s.attributes) for s in shots]
    chosen = spread_evenly(people, 5)
    assert len({s.subjects[0].identity for s in chosen}) == 5


def test_asking_for_more_than_there_is_gives_all() -> None:
    assert len(spread_evenly([sample("a", "portraits")], 96)) == 1
    assert spread_evenly([], 96) == []


def test_hostile_names_stay_text(tmp_path: Path, read: Reader) -> None:
    attack = "</script><img src=x onerror=alert(1)>"
    data = Dataset(DatasetCard(name=attack, real_people=False, warning=attack), [sample(attack, attack, tone=attack)])
    page = read(write_sheet(data, tmp_path / "sheet.html"))
    assert len(page.tags("script")) == 1 and len(page.tags("img")) == 1
    assert not [name for _, found in page.elements for name in found if name.startswith("on")]
    assert attack in page.text
