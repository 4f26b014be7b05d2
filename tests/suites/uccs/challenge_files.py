"""Files of both versions, written from plain Python structures."""

from pathlib import Path

HEADER = "FACE_ID,FILE,SUBJECT_ID,FACE_X,FACE_Y,FACE_WIDTH,FACE_HEIGHT\n"


def write_truth(folder: Path, faces, excluded=()) -> Path:
    """faces: (image, subject, box) in the order of the protocol; face ids count from 1."""
    lines = [f"{k},{image},{subject},{','.join(map(repr, box))}\n" for k, (image, subject, box) in enumerate(faces, 1)]
    text = HEADER + "".join(lines)
    (folder / "protocol").mkdir(parents=True, exist_ok=True)
    (folder / "protocol" / "validation.csv").write_text(text)
    (folder / "validation.csv").write_text(text)
    (folder / "exclude_gallery_validation.txt").write_text("".join(f"{k}\n" for k in excluded))
    return folder


def write_v2(path: Path, rows) -> Path:
    """rows: (image, box, score, [(identity, score), ...])."""
    path.write_text(
        "# made by a test\n# columns\n"
        + "".join(
            ",".join([image, *map(repr, box), repr(score), *(f"{i},{s!r}" for i, s in labels)]) + "\n"
            for image, box, score, labels in rows
        )
    )
    return path


def write_v3(path: Path, rows, subjects=0) -> Path:
    """rows: (image, box, score, similarities)."""
    columns = ["FILE", "DETECTION_SCORE", "BB_X", "BB_Y", "BB_WIDTH", "BB_HEIGHT"]
    columns += [f"S_{k:04d}" for k in range(1, subjects + 1)]
    lines = [
        ",".join([image.removesuffix(".jpg") if subjects else image, *map(repr, (score, *box, *similar[:subjects]))])
        for image, box, score, similar in rows
    ]
    path.write_text("\n".join([",".join(columns), *lines]) + "\n")
    return path
