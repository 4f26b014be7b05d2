"""An interval that includes 0 beside a small p is explained, and only there."""

import json
from pathlib import Path
from typing import Any

import countenance as ct
from countenance.auditing.cautions import FURTHER_PERSON


def two_pictures_each(failing: int) -> dict[str, Any]:
    """30 people of a, of whom some always fail, and 300 of b, of whom two do; two pictures of each person."""
    right = [0] * failing + [1] * (30 - failing) + [0, 0] + [1] * 298
    return {
        "identity": [f"p{i}" for i in range(330) for _ in range(2)],
        "g": ["a"] * 60 + ["b"] * 600,
        "correct": [value for value in right for _ in range(2)],
    }


def test_an_interval_with_0_beside_a_small_p_is_explained_on_every_surface(tmp_path: Path) -> None:
    audit = ct.audit(two_pictures_each(4), ["g"], ["correct"])
    [finding] = [f for f in audit.findings if f.kind == "group" and f.group == "a"]
    assert finding.p_adjusted < 0.05
    assert finding.diff_low < 0 < finding.diff_high
    assert finding.note == FURTHER_PERSON
    assert any(note.startswith(FURTHER_PERSON) and "g = a, correct" in note for note in audit.notes)
    assert any(FURTHER_PERSON in note for note in json.loads(audit.to_json())["settings"]["notes"])
    page = audit.report(tmp_path / "audit.html").read_text(encoding="utf-8").lower()
    assert FURTHER_PERSON.lower() in page
    assert FURTHER_PERSON.lower() in audit._repr_html_().lower()


def test_an_interval_without_0_is_not_explained() -> None:
    audit = ct.audit(two_pictures_each(20), ["g"], ["correct"])
    assert audit.verdict == "disparity"
    assert not any(f.note for f in audit.findings)
    assert not any("includes 0" in note for note in audit.notes)
