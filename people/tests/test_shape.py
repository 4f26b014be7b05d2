"""The shape of heads and bodies, from the body model alone."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial import cKDTree

pytest.importorskip("anny", reason="needs anny")

from countenance_people.clothes import sleeve_field
from countenance_people.draw import draw_identity, draw_person
from countenance_people.headwear import Dome, chin_strap, fit_hat, fit_hood
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


def test_a_chin_strap_lies_on_the_face_and_passes_under_the_chin() -> None:
    """It was a curve in the air that ended before the chin."""
    template = load_template()
    identity = draw_identity("id", 3, "female", "18_30", 5, "bald", "black")
    body = pose_body(template, draw_person(identity, np.random.default_rng(3), expression="neutral"))
    face = template.head.operator @ body.rest
    scale = float(np.ptp(face[template.head.canonical[:, 2] > 0.612][:, 2])) / 0.24
    dome = Dome(template, face, scale)
    hat = fit_hat(dome, "helmet", identity.seed)
    assert hat.ends is not None and hat.ends[0][0] > 0 > hat.ends[1][0]
    (strap,) = chin_strap(template, face, hat.ends)
    assert np.allclose(strap[[0, -1]], hat.ends, atol=0.001)
    chin = face[template.nearest(CHIN)]
    lowest = strap[strap[:, 2].argmin()]
    assert chin[2] - 0.02 < lowest[2] < chin[2] + 0.004 and lowest[1] > chin[1]
    away = cKDTree(face).query(strap[6:-6])[0]
    assert away.max() < 0.012, "between jaw and neck it spans a hollow, no more"
    assert fit_hat(dome, "cap", identity.seed).ends is None


def test_a_hood_covers_the_head_and_leaves_the_face_free() -> None:
    template = load_template()
    identity = draw_identity("id", 3, "female", "18_30", 5, "bald", "black")
    body = pose_body(template, draw_person(identity, np.random.default_rng(3), expression="neutral"))
    face = template.head.operator @ body.rest
    dome = Dome(template, face, float(np.ptp(face[template.head.canonical[:, 2] > 0.612][:, 2])) / 0.24)
    (vertices, _), (hem,) = fit_hood(dome, identity.seed)
    offset = vertices - dome.centre
    reach = np.linalg.norm(offset, axis=1)
    over = np.arccos(offset[:, 2] / reach) < 1.4
    assert (reach[over] > dome.look_up(dome.radius, offset[over]) + 0.01).all(), "nowhere in the scalp"
    ear, cheek = face[template.nearest((0.0855, -0.02, 0.738))], face[template.nearest((0.055, -0.10, 0.69))]
    side = hem[(hem[:, 0] > 0) & (np.abs(hem[:, 2] - cheek[2]) < 0.02)]
    assert cheek[1] < side[:, 1].mean() < ear[1], "behind the cheek, before the ear"
    assert (
        hem[:, 2].max() > face[template.nearest(BROW), 2] + 0.05 and hem[:, 2].min() < face[template.nearest(CHIN), 2]
    )
    assert np.linalg.norm(np.diff(hem, axis=0), axis=1).max() < 0.03, "one line without a gap"
