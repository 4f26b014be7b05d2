"""Every suite and every dataset that is read by its name says how to cite it, its licence and its consent."""

from html import unescape
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from PIL import Image

from countenance.cli.app import run as command
from countenance.data import load_dataset
from countenance.data.adapters import bafmd, fairface
from countenance.data.adapters.fhibe import dataset_card as fhibe_card
from countenance.data.adapters.happyfaces import card_of as happyfaces_card
from countenance.data.card import DatasetCard
from countenance.data.registry import dataset_names
from countenance.report.cards import model_card
from countenance.report.page import write_report
from countenance.run.suite import load_suite, suite_names

BY_CARD = ("coco", "mask_fairness", "voc", "yolo")
"""Readers of a layout, not of a dataset: what they read says its rights in a card.json."""


def picture(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(np.full((40, 40, 3), 120, np.uint8)).save(path)


def bounty(folder: Path) -> DatasetCard:
    picture(folder / "a.png")
    (folder / "labels.csv").write_text("name,skin_tone,gender,age\na.png,monk_1,male,0_17\n")
    return load_dataset(f"bias_bounty:{folder}").card


def uccs(folder: Path) -> DatasetCard:
    picture(folder / "a.jpg")
    header = "FACE_ID,FILE,SUBJECT_ID,FACE_X,FACE_Y,FACE_WIDTH,FACE_HEIGHT"
    (folder / "validation.csv").write_text(f"{header}\n1,a.jpg,3,2,2,20,20\n")
    return load_dataset(f"uccs:{folder}?set=validation&version=3&pictures=no").card


CARDS = {
    "people": lambda folder: load_dataset("people:portraits").card,
    "bafmd": lambda folder: bafmd.CARD,
    "fairface": lambda folder: fairface.CARD,
    "bias_bounty": bounty,
    "uccs": uccs,
    "fhibe": lambda folder: fhibe_card(folder, "fhibe", ()),
    "happyfaces": lambda folder: happyfaces_card(SimpleNamespace(real_people=True)),
}


def test_the_words_about_uccs_name_their_source(tmp_path: Path) -> None:
    card = uccs(tmp_path)
    assert "without their knowledge" in card.consent and "restricted licence" in card.licence
    assert all("https://vast.uccs.edu/Opensetface" in words for words in (card.consent, card.licence))


def test_every_reader_is_gone_over() -> None:
    assert sorted({*CARDS, *BY_CARD}) == dataset_names()


@pytest.mark.parametrize("name", CARDS)
def test_every_dataset_says_how_to_cite_it_its_licence_and_its_consent(name: str, tmp_path: Path) -> None:
    card = CARDS[name](tmp_path)
    assert len(card.citation) > 20
    assert card.licence != "not stated" and card.consent != "not stated"


@pytest.mark.parametrize("name", BY_CARD)
def test_a_layout_takes_its_rights_from_the_card_beside_it(name: str, tmp_path: Path) -> None:
    picture(tmp_path / "a.jpg")
    rights = {"citation": "Ann and Bob, Faces, 2024", "licence": "CC BY 4.0", "consent": "asked in writing"}
    (tmp_path / "card.json").write_text(DatasetCard(name="mine", **rights).model_dump_json())
    place = str(tmp_path)
    if name == "coco":
        place = str(tmp_path / "annotations.json")
        Path(place).write_text(
            '{"images": [{"id": 1, "file_name": "a.jpg", "width": 40, "height": 40}],'
            '"categories": [{"id": 1, "name": "face"}],'
            '"annotations": [{"id": 1, "image_id": 1, "category_id": 1, "bbox": [2, 2, 20, 20]}]}'
        )
    elif name == "voc":
        box = "<bndbox><xmin>2</xmin><ymin>2</ymin><xmax>20</xmax><ymax>20</ymax></bndbox>"
        (tmp_path / "a.xml").write_text(
            "<annotation><filename>a.jpg</filename><size><width>40</width><height>40</height></size>"
            f"<object><name>face</name>{box}</object></annotation>"
        )
    else:
        (tmp_path / "a.txt").write_text("0 .5 .5 .5 .5\n")
        (tmp_path / "classes.txt").write_text("face\n" if name == "yolo" else "no_mask\nmask\n")
    options = "?name=folder" if name == "mask_fairness" else ""
    card = load_dataset(f"{name}:{place}{options}").card
    assert {field: getattr(card, field) for field in rights} == rights


@pytest.mark.parametrize("name", suite_names())
def test_every_suite_says_how_to_cite_it_its_licence_and_its_consent(name: str, capsys) -> None:
    suite = load_suite(name)
    assert len(suite.citation) > 20 and "not stated" not in (suite.licence, suite.consent)
    assert command(["suite", "list"]) == 0
    listed = capsys.readouterr().out
    for text in (suite.citation, suite.licence, suite.consent):
        assert text in listed


def test_card_and_report_of_a_run_say_the_rights_of_its_protocol(tmp_path: Path) -> None:
    suite = load_suite("mask_fairness")
    (run,) = suite.run("people:portraits", "countenance-mask", tmp_path / "run", limit=60, by=["gender"])
    page = unescape(write_report(run, gallery="off").read_text())
    card = model_card(run)
    for text in ("Assessing Fairness in Open-Source Face Mask Detection Algorithms", suite.licence, suite.consent):
        assert text in page and text in card
