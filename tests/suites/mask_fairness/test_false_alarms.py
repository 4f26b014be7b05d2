"""With no true difference the published rule cries wolf; ours does so at most as often as it says."""

import math

import numpy as np
import pytest

from countenance.auditing import audit
from countenance.suites.mask_fairness.seed_rule import seed_table

AUDITS, PHOTOS, ATTRIBUTES = 120, 150, {"race": 7, "age": 9, "gender": 2}


def one_audit(random: np.random.Generator) -> tuple[bool, bool]:
    """Faces in photographs of one to six people; every group is found with the same probability, photo by photo."""
    faces = random.integers(1, 7, PHOTOS)
    photo = np.repeat(np.arange(PHOTOS), faces)
    chance = random.beta(6, 1.5, PHOTOS)  # some photographs are hard for everybody in them
    found = (random.random(len(photo)) < chance[photo]).astype(float)
    table: dict[str, object] = {"sample": [f"p{i}" for i in photo], "m.localised": found.tolist()}
    seed = False
    for name, size in ATTRIBUTES.items():
        where = random.integers(0, size, PHOTOS)  # people photographed together are often alike
        own = np.where(random.random(len(photo)) < 0.7, where[photo], random.integers(0, size, len(photo)))
        groups = [f"{name}{i}" for i in own]
        table[f"attr.{name}"] = groups
        seed |= any(row.significant for row in seed_table(name, groups, found.tolist()))
    ours = audit(table, by=list(ATTRIBUTES), metrics=["localised"], depth=1)
    return seed, any(finding.verdict == "disparity" for finding in ours.findings)


@pytest.mark.slow
def test_the_published_rule_raises_false_alarms_and_ours_keeps_its_promise():
    random = np.random.default_rng(2026)
    alarms = np.array([one_audit(random) for _ in range(AUDITS)])
    seed, ours = alarms.mean(axis=0)
    alpha = 0.05
    assert seed > 0.4, f"the published rule: {seed:.2f}"
    assert ours <= alpha + 2 * math.sqrt(alpha * (1 - alpha) / AUDITS), f"ours: {ours:.3f}"
