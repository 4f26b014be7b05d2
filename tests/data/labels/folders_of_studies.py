"""Folders as studies and downloads leave them: tables in inner folders, participants by folder, lists in cells."""

import json
from pathlib import Path

from folders import folder, picture, shifted, write_csv


@folder(pictures=4, people=4, attributes=["skin_tone"], boxes=4)
def an_unpacked_archive_with_its_table_inside(root: Path) -> None:
    rows = [["image_id", "skin_tone", "bbox_x", "bbox_y", "bbox_width", "bbox_height"]]
    for i in range(4):
        picture(root / "archive" / "faces" / f"part{i % 2}" / f"{i:05d}.jpg", i)
        x0, y0, x1, y1 = shifted(i)
        rows.append([f"{i:05d}", f"monk_{i + 1}", x0, y0, x1 - x0, y1 - y0])
    write_csv(root / "archive" / "metadata.csv", rows)


@folder(pictures=6, people=3, attributes=["gender"], labels="participants.csv")
def participants_whose_pictures_lie_in_their_folders(root: Path) -> None:
    rows = [["participant", "gender"]]
    for person in range(3):
        for i in range(2):
            picture(root / "images" / f"P{person}" / f"{i}.jpg", i)
        rows.append([f"P{person}", "fm"[person % 2]])
    write_csv(root / "participants.csv", rows)


@folder(pictures=4, people=4, attributes=["skin"], boxes=4)
def people_listed_in_the_cells_of_a_table(root: Path) -> None:
    rows = [["image", "regions"]]
    for i in range(4):
        picture(root / f"{i}.jpg", i)
        x0, y0, x1, y1 = shifted(i)
        people = [{"x": x0, "y": y0, "width": x1 - x0, "height": y1 - y0, "label": "face", "skin": "ab"[i % 2]}]
        rows.append([f"{i}.jpg", json.dumps(people) if i % 2 else str(people)])  # as Python prints it, too
    write_csv(root / "annotations.csv", rows)


@folder(pictures=3, people=2, attributes=["is_occluded"], boxes=2)
def open_images_with_its_codes(root: Path) -> None:
    rows = [["ImageID", "LabelName", "XMin", "XMax", "YMin", "YMax", "IsOccluded"]]
    for i, code in enumerate(("/m/0dzct", "/m/04yx4", "/m/0k4j")):  # a face, a man, a car
        picture(root / f"{i:016x}.jpg", i)
        rows.append([f"{i:016x}", code, "0.31", "0.72", "0.25", "0.75", "ab"[i % 2]])
    write_csv(root / "validation-annotations-bbox.csv", rows)


@folder(pictures=6, people=6, attributes=["gender", "age"], boxes=5)
def unknown_values_in_every_spelling(root: Path) -> None:
    rows = [["file", "gender", "age", "xmin", "ymin", "xmax", "ymax"]]
    ages = ["25", "unknown", "n/a", "40", "Not stated", "31"]
    for i, word in enumerate(["female", "Female ", "FEMALE", "unknown", "?", "male"]):
        picture(root / f"{i}.jpg", i)
        rows.append([f"{i}.jpg", word, ages[i], *(shifted(i) if i else ("", "", "", ""))])
    write_csv(root / "people.csv", rows)


@folder(pictures=6, people=3, attributes=["geschlecht"])
def a_title_above_the_header(root: Path) -> None:
    rows = [["Study 7", "", ""], ["Datei", "Person", "Geschlecht"]]
    for i in range(6):
        picture(root / f"{i}.jpg", i)
        rows.append([f"{i}.jpg", f"P{i // 2}", "wm"[i // 2 % 2]])
    write_csv(root / "tab.csv", rows, sign=";")


@folder(pictures=4, people=4, attributes=["gender"], boxes=4)
def json_with_a_list_of_people_under_each_picture(root: Path) -> None:
    content = {}
    for i in range(4):
        picture(root / f"{i}.jpg", i)
        content[f"{i}.jpg"] = [{"bbox": list(shifted(i)), "gender": "fm"[i % 2]}]
    (root / "people.json").write_text(json.dumps(content))


@folder(pictures=3, people=3, attributes=[], boxes=3, truth_boxes="xyxy")
def json_with_bare_boxes_under_each_picture(root: Path) -> None:
    for i in range(3):
        picture(root / f"{i}.jpg", i)
    (root / "boxes.json").write_text(json.dumps({f"{i}.jpg": [list(shifted(i))] for i in range(3)}))
