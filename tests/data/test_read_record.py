"""A JSON file that is wrong is told with its path, the first field that is wrong, and what to do."""

from pathlib import Path

import pytest
from pydantic import BaseModel, ConfigDict

from countenance.data.record import read_record
from countenance.errors import InputError


class Box(BaseModel):
    model_config = ConfigDict(extra="forbid")
    sides: tuple[int, int]
    name: str = ""


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ('{"sides": [1]}', r"box\.json: sides\.1: Field required; see the docs$"),
        ('{"sides": [1, 2], "colour": 3}', r"box\.json: colour: Extra inputs are not permitted; see"),
        ("[]", r"box\.json: the file: Input should be an object"),
        ('{"sides":', r"box\.json: the file: Invalid JSON"),
        (b"\xff", r"box\.json: the file: Invalid JSON"),
        (None, r"box\.json: no such file; write one$"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, content: str | bytes | None, said: str) -> None:
    path = tmp_path / "box.json"
    if content is not None:
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(InputError, match=said):
        read_record(Box, path, missing="write one", wrong="; see the docs")


def test_a_whole_file_is_read(tmp_path: Path) -> None:
    (tmp_path / "box.json").write_text('{"sides": [1, 2]}')
    assert read_record(Box, tmp_path / "box.json", missing="").sides == (1, 2)
