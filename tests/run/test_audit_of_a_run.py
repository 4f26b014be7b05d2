"""An audit of a run is the same however it is asked for, and has what the run and its dataset's card say."""

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import countenance as ct
from countenance.auditing.conversion import plain
from countenance.cli.app import run as command

CARD = {
    "name": "pairs of wards",
    "paired_by": {"base": "base", "change": "change"},
    "attributes": {
        "size": {"ordered": ["small", "medium", "large", "huge"], "role": "person"},
        "ward": {"role": "person"},
    },
}


def pictures(root: Path) -> Path:
    """24 people, each with a base and a version with a hat; the shade of a picture is what a model sees."""
    rng = np.random.default_rng(3)
    root.mkdir()
    lines = ["file,identity,attr.ward,attr.size,attr.base,attr.change,attr.hat,face_box"]
    for person in range(24):
        ward, size = ("north", "south")[person % 2], ("small", "medium", "large", "huge")[person // 6]
        for hat in ("no", "yes"):
            shade = rng.integers(20, 120) if hat == "yes" and person % 2 else rng.integers(100, 200)
            name = f"p{person:02d}{'-hat' * (hat == 'yes')}.png"
            Image.fromarray(np.full((32, 32, 3), shade, np.uint8)).save(root / name)
            change = "hat" if hat == "yes" else "none"
            lines.append(f'{name},p{person},{ward},{size},p{person:02d}.png,{change},{hat},"[4, 4, 24, 24]"')
    (root / "labels.csv").write_text("\n".join(lines) + "\n")
    (root / "card.json").write_text(json.dumps(CARD))
    return root


class Shade:
    """Finds faces in bright pictures, and fails on the darkest."""

    name = "shade"

    def __call__(self, images: list[np.ndarray]) -> list[ct.Boxes]:
        if any(image.mean() < 40 for image in images):
            raise ValueError("too dark")
        return [ct.Boxes([[4.0, 4, 24, 24]] if image.mean() > 90 else np.zeros((0, 4))) for image in images]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> ct.Run:
    folder = tmp_path_factory.mktemp("audited")
    return ct.evaluate(
        Shade(), "face_localization", pictures(folder / "set"), out=folder / "run", batch=1, max_failures=0.5
    )


def test_python_and_the_command_line_give_the_same_audit(run: ct.Run, tmp_path: Path) -> None:
    ways = [ct.audit(run), run.audit(), ct.audit(str(run.place))]
    assert command(["audit", str(run.place), "--json", str(tmp_path / "audit.json"), "--quiet"]) == 0
    told = json.loads((tmp_path / "audit.json").read_text())
    for audit in ways:
        content = audit.to_dict(groups=True)
        for part in ("verdict", "reason", "findings", "groups", "missing", "ordered", "widest", "excluded"):
            assert plain(content[part]) == told[part], part


def test_an_audit_of_a_run_has_what_card_and_failures_say(run: ct.Run) -> None:
    audit = ct.audit(run, metrics=["recall@0.5"])
    kinds = {f.kind for f in audit.findings}
    assert {"group", "twins", "missing"} <= kinds
    [hat] = [f for f in audit.findings if f.kind == "twins" and f.group == "yes"]
    assert (hat.attribute, hat.versus) == ("hat", "base") and hat.lost and hat.bases == 24 - len(run.failures())
    assert [f.role for f in audit.findings if f.attribute == "ward" and f.kind == "group"] == ["person"]
    assert [one.attribute for one in audit.ordered] == ["size"]
    assert sum(m.missing for m in audit.missing if m.attribute == "ward") == len(run.failures()) > 0
