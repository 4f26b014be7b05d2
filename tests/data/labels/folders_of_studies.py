"""Folders as studies and downloads leave them: tables in inner folders, participants by folder, lists in cells."""

import json
from itertools import product
from pathlib import Path
from urllib.parse import quote

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


@folder(pictures=6, people=3, attributes=["geschlecht", "age"], labels="export.csv")
def titles_above_the_header_of_an_export_in_utf16(root: Path) -> None:
    rows = [["Studie Gesichter", "", "", "", ""], ["Exportiert am", "19.11.2026", "", "", ""], ["", "", "", "", ""]]
    rows += [["Dateiname", "Proband", "Geschlecht", "Alter (Jahre)", ""]]
    for i in range(6):
        picture(root / f"{i}.jpg", i)
        rows.append([f"{i}.jpg", f"P{i // 2}", ["weiblich", "männlich"][i % 2], f"{20 + i},5", ""])
    write_csv(root / "export.csv", rows, sign=";", encoding="utf-16")


@folder(pictures=4, people=2, attributes=["sexe", "age"], labels="t.csv")
def french_header_in_latin_1(root: Path) -> None:
    rows = [["Fichier", "Personne", "Sexe", "Âge"]]
    for i in range(4):
        picture(root / f"{i}.jpg", i)
        rows.append([f"{i}.jpg", f"p{i // 2}", ["féminin", "masculin"][i % 2], f"{20 + i}"])
    write_csv(root / "t.csv", rows, sign=";", encoding="latin-1")


@folder(pictures=4, people=4, attributes=["gender"], boxes=4, labels="t.csv")
def names_as_a_browser_writes_them(root: Path) -> None:
    rows = [["url", "gender", "x", "y", "width", "height"]]
    for i in range(4):
        picture(root / f"foto Nr {i} ä.jpg", i)
        x0, y0, x1, y1 = shifted(i)
        rows.append([quote(f"foto Nr {i} ä.jpg"), "fm"[i % 2], x0, y0, x1 - x0, y1 - y0])
    write_csv(root / "t.csv", rows)


@folder(pictures=8, people=2, attributes=["session"], labels="t.csv")
def equal_names_told_apart_by_two_columns(root: Path) -> None:
    rows = [["subject", "session", "frame"]]
    for person, day, i in product("ab", ("day1", "day2"), range(2)):
        picture(root / f"subject_{person}" / day / f"{i}.png", i)
        rows.append([f"subject_{person}", day, f"{i}.png"])
    write_csv(root / "t.csv", rows)


@folder(pictures=4, people=4, attributes=["age_group", "gender"], labels="t.csv")
def ages_in_the_groups_of_adience(root: Path) -> None:
    rows = [["file", "age", "gender"]]
    for i, group in enumerate(("(0, 2)", "(4, 6)", "(25, 32)", "(60, 100)")):
        picture(root / f"{i}.jpg", i)
        rows.append([f"{i}.jpg", group, "fm"[i % 2]])
    write_csv(root / "t.csv", rows)


@folder(pictures=4, people=4, attributes=["age_group", "gender"], boxes=4)
def coco_with_groups_of_ages(root: Path) -> None:
    images, annotations = [], []
    for i in range(4):
        picture(root / f"{i}.jpg", i)
        images.append({"id": i, "file_name": f"{i}.jpg", "width": 96, "height": 80})
        about = {"age": ["20-29", "60+"][i % 2], "gender": "fm"[i % 2]}
        x0, y0, x1, y1 = shifted(i)
        box = [x0, y0, x1 - x0, y1 - y0]
        annotations.append({"id": i, "image_id": i, "category_id": 1, "bbox": box, "attributes": about})
    content = {"images": images, "annotations": annotations, "categories": [{"id": 1, "name": "face"}]}
    (root / "annotations.json").write_text(json.dumps(content))


@folder(pictures=4, people=4, attributes=["glasses", "beard", "skin_tone"], labels="t.csv")
def questions_with_their_answers_in_brackets(root: Path) -> None:
    rows = [["Image ID", "Glasses?", "Beard (yes/no)", "Skin\u200b tone"]]
    for i in range(4):
        picture(root / f"{i:06d}.png", i)
        rows.append([f"{i}.0", ["Yes", "No"][i % 2], "yn"[i % 2], f"monk_{i + 1}"])
    write_csv(root / "t.csv", rows)


@folder(pictures=4, people=4, attributes=[], boxes=4, labels="t.csv")
def polygons_in_a_column(root: Path) -> None:
    rows = [["filename", "label", "polygon"]]
    for i in range(4):
        picture(root / f"{i}.jpg", i)
        x0, y0, x1, y1 = shifted(i)
        corners = [[x0, y0], [x1, y0], [x1, y1], [x0, y1]]
        rows.append([f"{i}.jpg", "face", json.dumps(corners if i % 2 else [[x0, y0, x1, y0, x1, y1, x0, y1]])])
    write_csv(root / "t.csv", rows)


@folder(pictures=4, people=4, attributes=["gender"], labels="t.csv")
def points_of_faces_in_columns(root: Path) -> None:
    points = ("left_eye", "right_eye", "nose", "mouth_left", "mouth_right")
    rows = [["filename", "gender", *(f"{name}_{axis}" for name in points for axis in "xy")]]
    for i in range(4):
        picture(root / f"{i}.jpg", i)
        rows.append([f"{i}.jpg", "fm"[i % 2], *(30 + k for k in range(10))])
    write_csv(root / "t.csv", rows)


@folder(pictures=4, people=4, attributes=["gender", "income"], boxes=4, labels="t.csv")
def commas_between_thousands(root: Path) -> None:
    rows = [["FILE NAME", "GENDER", "Income", "X Min", "Y Min", "X Max", "Y Max"]]
    for i in range(4):
        picture(root / f"Img_{i}.JPG", i)
        rows.append([f"img_{i}.jpg", "fm"[i % 2], ["1,200.50", "1,300", "2,150", "1,234,567"][i], *shifted(i)])
    write_csv(root / "t.csv", rows)


@folder(pictures=4, people=4, attributes=["age"], boxes=4, labels="t.csv")
def boxes_as_python_prints_them_and_a_repeated_header(root: Path) -> None:
    rows = [["file", "face", "age"]]
    for i in range(4):
        picture(root / f"{i}.jpg", i)
        x0, y0, x1, y1 = shifted(i)
        box = {"left": x0, "top": y0, "right": x1, "bottom": y1}
        rows.append([f"{i}.jpg", str(box) if i % 2 else f"[{x0}. {y0}. {x1}. {y1}.]", ["31", "None", ".", "n.a."][i]])
    write_csv(root / "t.csv", [*rows[:3], rows[0], *rows[3:]], encoding="utf-16-le")


@folder(pictures=4, people=4, attributes=["geschlecht"], boxes=4, labels="t.csv")
def german_letters_for_width_and_height(root: Path) -> None:
    rows = [["Bild", "x", "y", "b", "h", "Geschlecht"]]
    for i in range(4):
        picture(root / f"{i}.jpg", i)
        x0, y0, x1, y1 = shifted(i)
        rows.append([f"{i}.jpg", f"{x0},5", f"{y0},5", f"{x1 - x0},0", f"{y1 - y0},0", "wm"[i % 2]])
    write_csv(root / "t.csv", rows, sign=";")


@folder(pictures=4, people=4, attributes=["area"], boxes=4, labels="t.csv")
def a_data_frame_of_coco_with_outlines_before_boxes(root: Path) -> None:
    rows = [["segmentation", "area", "image", "bbox"]]
    for i in range(4):
        picture(root / f"{i}.jpg", i)
        x0, y0, x1, y1 = shifted(i)
        lengths = {"counts": [12, 34, 5], "size": [80, 96]}
        box = {"x": x0, "y": y0, "width": x1 - x0, "height": y1 - y0}
        outline = lengths if i % 2 else [[1, 1, 90, 1, 90, 70, 1, 70]]
        rows.append([str(outline), f"{1600.5 + i}", f"{i}.jpg", str(box)])
    write_csv(root / "t.csv", rows)
