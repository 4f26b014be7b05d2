"""What a comparison says first when somebody loses by a metric that is not the first one."""

from countenance.comparing import compare
from countenance.report.comparison_words import lead


def rows(correct: list[int], fit: list[int]) -> dict[str, list[object]]:
    masked = ["yes" if i % 2 else "no" for i in range(len(fit))]
    return {"sample": [*range(len(fit))], "masked": masked, "correct": correct, "fit": fit}


def test_a_group_that_loses_by_a_further_metric_is_named() -> None:
    n = 400
    old = rows([1, 0] * (n // 2), [1] * n)
    new = rows([1] * n, [0 if i % 2 and i % 4 == 1 else 1 for i in range(n)])
    settings = {"by": "masked", "metrics": ["correct", "fit"], "better": {"correct": "higher", "fit": "higher"}}
    sentences = lead(compare(old, new, **settings))
    assert "better than" in sentences[0]
    assert any((text.lower().startswith("fit") and "worse" in text) or "masked" in text for text in sentences[1:])
    assert not any(text.lower().startswith("fit") for text in lead(compare(old, rows([1] * n, [1] * n), **settings)))
