"""The shape of heads and bodies, from the body model alone."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("anny", reason="needs anny")

from countenance_people.clothes import sleeve_field
from countenance_people.draw import draw_identity, draw_person
from countenance_people.shape import BODY_PARTS, BODY_VERTICES, CHIN, load_template, pose_body
from countenance_people.studio import arrange
from countenance_people.twins import twins

pytestmark = pytest.mark.filterwarnings("ignore")
BROW = (0.030, -0.140, 0.757)


def heights(seed: int, gender: str, age_group: str) -> tuple[float, float, float]:
    """Crown above the brows, brows above the chin, and the whole body, of a head that looks straight ahead."""
    template = load_template()
    identity = draw_identity("id", seed, gender, age_group, 5, "bald", "black")
    body = pose_body(template, draw_person(identity, np.random.default_rng(seed), yaw=0, pitch=0, roll=0))
    head = template.head.operator @ body.rest
    crown = head[:, 2].max()
    brow, chin = (head[template.nearest(point), 2] for point in (BROW, CHIN))
    return float(crown - brow), float(brow - chin), float(np.ptp(body.rest[:BODY_VERTICES, 2]))


@pytest.mark.parametrize("gender", ["female", "male"])
@pytest.mark.parametrize("age_group", ["18_30", "31_60", "61_100"])
def test_a_bald_skull_is_lower_above_the_brows_than_the_face_below_them(gender: str, age_group: str) -> None:
    for seed in range(6):
        above, below, _ = heights(seed, gender, age_group)
        assert 0.5 * below < above < below


def test_a_child_has_a_large_head_for_its_body() -> None:
    share = {
        group: np.mean([sum(h[:2]) / h[2] for h in (heights(seed, "female", group) for seed in range(6))])
        for group in ("0_17", "18_30")
    }
    assert share["0_17"] > 1.1 * share["18_30"]


def test_twins_share_the_camera_of_their_base() -> None:
    base, *others = twins(5, 1)
    camera = arrange(base)[1]
    geometry = [spec for spec in others if spec.change in ("age", "gender", "expression", "headwear", "pose")]
    assert len(geometry) == 5
    for spec in geometry:
        own = arrange(spec)[1]
        assert (own.focal, own.width) == (camera.focal, camera.width), spec.change
        assert np.array_equal(own.origin, camera.origin) and np.array_equal(own.target, camera.target), spec.change


def test_a_long_sleeve_ends_before_the_hand() -> None:
    template = load_template()
    points = template.canonical[:BODY_VERTICES]
    hands = np.isin(template.body_part, [BODY_PARTS.index(f"{side} hand") for side in ("Left", "Right")])
    forearm = (np.abs(points[:, 0]) > 0.36) & (np.abs(points[:, 0]) < 0.44) & (points[:, 2] > 0.15)
    covered = sleeve_field(points, "long")
    assert (covered[hands] < 0.01).all() and (covered[forearm & ~hands] > 0).all()
