"""Rules that ask the same question are judged from one audit, and every question is in the ledger of the run."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tests.gating.conftest import Made

import countenance as ct
from countenance.auditing import audit
from countenance.auditing.audit import audited, work_of
from countenance.auditing.levels import estimates_at, gaps_at
from countenance.auditing.settings import AuditSettings
from countenance.auditing.source import NOTE
from countenance.run.file_names import SCORES
from countenance.storage.local import LocalStorage

EVERY_KIND: dict[str, Any] = {
    "rules": [
        {"estimate": {"metric": "ok", "at_least": 0.5}, "insufficient": "warn"},
        {"estimate": {"metric": "ok", "by": "tone", "at_least": 0.4}, "insufficient": "warn"},
        {"gap": {"metric": "ok", "by": "tone", "at_most": 0.5}, "insufficient": "warn"},
        {"gap": {"metric": "ok", "by": "tone", "at_most": 0.01}, "insufficient": "warn"},
        {"equity": {"measure": "impact_ratio", "metric": "ok", "by": "tone", "at_least": 0.5}, "insufficient": "warn"},
        {"gap": {"metric": "ok", "by": "tone", "at_most": 0.45, "comparison": "pairs"}, "insufficient": "warn"},
        {"gap": {"metric": "ok", "by": "tone", "at_most": 0.5, "given": "light"}, "insufficient": "warn"},
        {"verdict": {"forbid": "severe", "by": "tone", "metric": "ok", "given": "light"}, "insufficient": "warn"},
        {"verdict": {"forbid": "disparity"}, "insufficient": "warn"},
        {"verdict": {"forbid": "severe"}, "insufficient": "warn"},
        {"people": {"at_least": 100}, "insufficient": "warn"},
        {"failed_images": {"at_most": 0.1}, "insufficient": "warn"},
        {"speed": {"at_least": 1.0}, "insufficient": "warn"},
        {"latency": {"at_most": 100.0}, "insufficient": "warn"},
        {"regression": {"metric": "ok", "by": "tone", "at_most": 0.2}, "insufficient": "warn"},
    ]
}


@pytest.fixture
def counts(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often each file is read, and how many audits are computed."""
    counter: Counter[str] = Counter()
    read = LocalStorage.read

    def counted_read(self: LocalStorage, name: str) -> bytes:
        counter[name] += 1
        return read(self, name)

    def counted_audit(work: Any, **options: Any) -> Any:
        counter["audits"] += 1
        return audited(work, **options)

    monkeypatch.setattr(LocalStorage, "read", counted_read)
    monkeypatch.setattr("countenance.run.auditing.audited", counted_audit)
    monkeypatch.setattr("countenance.comparing.gaps.audited", counted_audit)
    return counter


def columns(seed: int = 0, n: int = 600) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    tone = rng.choice(["dark", "light", "medium"], n)
    return {
        "attr.tone": tone.tolist(),
        "attr.light": rng.choice(["day", "night"], n).tolist(),
        "m.ok": (rng.random(n) < np.where(tone == "dark", 0.7, 0.9)).astype(float).tolist(),
        "m.latency": rng.uniform(1, 20, n).tolist(),
    }


def test_a_policy_of_every_kind_of_rule_reads_the_scores_once_and_makes_an_audit_for_each_question(
    made: Made, counts: Counter[str]
) -> None:
    run = made(columns(), images_per_second=20.0, better={"latency": "lower"})
    baseline = ct.Run(made(columns(1), images_per_second=20.0, better={"latency": "lower"}).place)
    run.audit(by=["tone"], metrics=["ok"], adjust="holm")
    counts.clear()
    outcome = ct.gate(ct.Run(run.place), EVERY_KIND, baseline=baseline)
    assert len(outcome.rules) == 15
    assert counts["audits"] == 3, "tone against the rest (with equity), every two tones, tone with light held equal"
    assert counts["scores.parquet"] == 2, "once of the run, once of its baseline"
    questions = json.loads((Path(run.place) / "questions.json").read_text())["questions"]
    assert len(questions) == 4, "the stored audit and the three of the gate"
    assert any("asked 4 different questions" in note for note in outcome.notes)
    ct.gate(ct.Run(run.place), EVERY_KIND, baseline=baseline)
    assert len(json.loads((Path(run.place) / "questions.json").read_text())["questions"]) == 4, "the same questions"


def test_a_verdict_of_named_attributes_is_the_stored_one_where_that_was_asked(made: Made, counts: Counter[str]) -> None:
    run = made(columns())
    run.audit(by=["tone"], metrics=["ok"])
    rule = {"verdict": {"forbid": "disparity", "by": "tone", "metric": "ok"}, "insufficient": "warn"}
    counts.clear()
    ct.gate(run, {"rules": [rule]})
    assert counts["audits"] == 0
    ct.gate(run, {"rules": [rule], "alpha": 0.01})
    ct.gate(run, {"rules": [rule | {"verdict": rule["verdict"] | {"metric": "latency"}}]})
    assert counts["audits"] == 2, "another level and another metric are other questions"
    for chosen in ({"delta": 0.5}, {"adjust": "holm"}, {"min_n": 200}):
        run.audit(by=["tone"], metrics=["ok"], **chosen)
        counts.clear()
        ct.gate(run, {"rules": [rule]})
        assert counts["audits"] == 1, f"a stored audit with {chosen} answers another question"


def test_numbers_alone_ask_nothing_of_the_ledger(made: Made, counts: Counter[str]) -> None:
    run = made(columns())
    rule = {"estimate": {"metric": "ok", "by": "tone", "at_least": 0.4}, "insufficient": "warn"}
    assert ct.gate(run, {"rules": [rule]})
    assert counts["audits"] == 0 and not (Path(run.place) / "questions.json").exists()


def rows_of(kind: str, seed: int) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    n = 300
    scores = {
        "rate": (rng.random(n) < 0.8).astype(float),
        "bounded": rng.random(n),
        "mean": rng.normal(20, 5, n),
    }[kind]
    return {
        "tone": rng.choice(["dark", "light", "medium"], n).tolist(),
        "identity": rng.integers(0, 120, n).tolist(),
        "ok": np.where(rng.random(n) < 0.03, np.nan, scores).tolist(),
    }


@pytest.mark.parametrize("comparison", ["rest", "pairs"])
@pytest.mark.parametrize("kind", ["rate", "bounded", "mean"])
def test_intervals_at_another_level_are_those_of_an_audit_at_that_level(kind: str, comparison: str) -> None:
    table = rows_of(kind, 3)
    options: dict[str, Any] = {"comparison": comparison, "adjust": "holm", "better": "higher"}
    work = work_of(table, ["tone"], ["ok"], AuditSettings(**options))
    audited(work)
    for alpha in (0.05, 0.02, 0.001):
        naive = audit(table, ["tone"], ["ok"], alpha=alpha, **options)
        limits = gaps_at(work, alpha)
        groups = [f for f in naive.findings if f.kind == "group" and f.comparison == comparison]
        assert len(groups) == 3
        for f in groups:
            expected = [f.diff_low, f.diff_high, f.low_equivalence, f.high_equivalence]
            own = limits[f.metric, f.attribute, f.group, f.versus]
            assert [own.low, own.high, own.low_equivalence, own.high_equivalence] == pytest.approx(
                expected, nan_ok=True
            )
        for own, expected in zip(estimates_at(work, alpha), naive.groups, strict=True):
            assert own.model_dump() == pytest.approx(expected.model_dump(), nan_ok=True)


def test_a_number_has_the_interval_that_the_stored_audit_shows(made: Made) -> None:
    run = made(columns())
    audit = run.audit(adjust="holm")
    rules = [
        {"estimate": {"metric": "ok", "by": "tone", "at_least": 0.1}, "insufficient": "warn"},
        {"gap": {"metric": "ok", "by": "tone", "at_most": 0.9}, "insufficient": "warn"},
    ]
    numbers, gaps = ct.gate(run, {"rules": rules}).rules
    groups = {e.group: (e.estimate, e.low, e.high) for e in audit.groups if (e.metric, e.attribute) == ("ok", "tone")}
    assert {check.group: (check.value, check.low, check.high) for check in numbers.checks} == groups
    found = [f for f in audit.findings if (f.metric, f.attribute, f.kind) == ("ok", "tone", "group")]
    expected = {f.group: (f.difference, f.diff_low, f.diff_high) for f in found if f.comparison == "rest"}
    assert {check.group: (check.value, check.low, check.high) for check in gaps.checks} == expected


def test_a_rule_about_a_slice_that_was_searched_for_says_so(made: Made) -> None:
    run = made(columns())
    scores = run.scores()
    place = scores.column_names.index("attr.tone")
    field = pa.field("attr.tone", pa.string(), metadata={NOTE: b"tone is a slice that was searched for"})
    with run.store.replacing(SCORES):
        run.store.write_table(SCORES, scores.set_column(place, field, scores["attr.tone"].cast(pa.string())))
    for by, noted in (("tone", True), ("tone*light", True), ("light", False)):
        rule = {"gap": {"metric": "ok", "by": by, "at_most": 0.5}, "insufficient": "warn"}
        outcome = ct.gate(ct.Run(run.place), {"rules": [rule]})
        assert ("tone is a slice that was searched for" in outcome.notes) == noted
