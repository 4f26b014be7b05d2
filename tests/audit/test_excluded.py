"""What an audit leaves out is listed with its size and the reason."""

import numpy as np
import pytest

from countenance.audit import audit

N = 60


@pytest.mark.parametrize(("values", "group", "n"), [([None] * N, "(unknown)", 0), (["x"] * N, "x", N)])
def test_an_attribute_with_nothing_to_compare(values: list[str | None], group: str, n: int) -> None:
    random = np.random.default_rng(0)
    rows = {
        "sample": [f"s{k}" for k in range(N)], "attr.g": values, "attr.h": ["a", "b"] * (N // 2),
        "m.ok": random.integers(0, 2, N).astype(float),
    }  # fmt: skip
    found = audit(rows, by=["g", "h"])
    last = found.excluded[-1]
    assert (last["attribute"], last["group"], last["n"], last["clusters"]) == ("g", group, n, n)
    assert "nothing to compare with" in last["why"] and last["untested"] is True and last["alarming"] is False
    unknown = [one for one in found.excluded if one["why"] == "unknown values are shown, not tested"]
    assert [(one["n"], one["clusters"], one["untested"]) for one in unknown] == [(N, N, False)] * (n == 0)
