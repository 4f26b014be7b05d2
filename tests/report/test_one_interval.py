"""One number has one interval: a run's groups on the page, in the PDF, the card, the exports, the JSON, the viewer
and the gate carry the interval of the audit's groups and findings."""

import html
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.gating.conftest import write_run

import countenance as ct
from countenance.auditing.result import Audit
from countenance.cli.app import run as run_command
from countenance.report import numbers, write_pdf, write_report
from countenance.report.paper import Paper
from countenance.run import audit_run, store_audit
from countenance.view.library import Library

RATE, SCORE, BY = "recall@0.5", "iou", "skin_tone"
Key = tuple[str, str]
Interval = tuple[float, float]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> ct.Run:
    """A rate and a score of 240 people with three pictures each; every group has an estimate of its own."""
    rng = np.random.default_rng(3)
    person = np.repeat(np.arange(240), 3)
    tone = np.array(["light", "medium", "dark"])[rng.integers(0, 3, 240)][person]
    found = (rng.random(720) < np.where(tone == "dark", 0.78, np.where(tone == "light", 0.95, 0.9))).astype(float)
    overlap = np.where(found > 0, rng.beta(9, 2, 720), 0.0)
    columns = {
        "identity": [f"p{i}" for i in person],
        f"attr.{BY}": tone.tolist(),
        f"m.{RATE}": found.tolist(),
        f"m.{SCORE}": overlap.tolist(),
    }
    made = write_run(tmp_path_factory.mktemp("runs") / "run", columns)
    store_audit(made, audit_run(made))
    return made


@pytest.fixture(scope="module")
def known(run: ct.Run) -> dict[Key, Interval]:
    """The interval of every group and of everybody, from `Audit.groups` and `.overall`."""
    audit = run.audit()
    return {(e.metric, e.group if e.attribute == BY else ""): (e.low, e.high) for e in [*audit.groups, *audit.overall]}


def printed(audit: Audit) -> dict[str, str]:
    """What is printed of each group: its estimate, and the interval that belongs to it."""
    pairs = {}
    for e in audit.groups:
        value, span = numbers.value(e.estimate, e.metric_kind), numbers.span(e.low, e.high, e.metric_kind)
        pairs[re.sub(r"\s", " ", value)] = re.sub(r"\s", " ", span)
    assert len(pairs) == 6, "every group has an estimate of its own"
    return pairs


def words_of(markup: str) -> str:
    """A page as text."""
    markup = re.sub(r"<(script|style)\b.*?</\1>", " ", markup, flags=re.DOTALL)
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]+>", " ", markup)))


SPAN = re.compile(r"\d+(?:\.\d+)?–\d+(?:\.\d+)?(?:\s%)?")


def check_text(text: str, audit: Audit) -> None:
    """Every estimate that an interval follows is followed by its own, and each group is there at least once."""
    text = re.sub(r"\s", " ", text)
    for value, span in printed(audit).items():
        beside = re.findall(rf"(?<![\d.−-]){re.escape(value)}\s*[\\(\[|]*\s*({SPAN.pattern})", text)
        assert beside, f"{value} has no interval"
        assert set(beside) == {span}, value


def test_findings_have_the_intervals_of_groups(run: ct.Run, known: dict[Key, Interval]) -> None:
    findings = [f for f in run.audit().findings if f.kind == "group"]
    assert len(findings) == 6
    for f in findings:
        assert (f.low, f.high) == known[f.metric, f.group]


def test_the_json_of_the_command(run: ct.Run, known: dict[Key, Interval], tmp_path: Path, capsys: Any) -> None:
    assert run_command(["audit", str(run.place), "--json", str(tmp_path / "audit.json")]) == 0
    shown = capsys.readouterr().out
    told = json.loads((tmp_path / "audit.json").read_text(encoding="utf-8"))
    sides = [(e["metric"], e["group"], e["low"], e["high"]) for e in told["groups"] if e["attribute"] == BY]
    sides += [(f["metric"], f["group"], f["low"], f["high"]) for f in told["findings"]]
    assert len(sides) == 12
    for metric, group, low, high in sides:
        assert (low, high) == pytest.approx(known[metric, group], rel=1e-12)
        assert f"[{low:.3f}, {high:.3f}]" in shown


def test_the_page(run: ct.Run, tmp_path: Path) -> None:
    page = write_report(run, tmp_path / "page.html")
    check_text(words_of(Path(page).read_text(encoding="utf-8")), run.audit())


def test_the_pdf(run: ct.Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    texts: list[str] = []

    def strings(value: Any) -> Iterator[str]:
        if isinstance(value, str):
            yield value
        elif isinstance(value, list | tuple):
            for part in value:
                yield from strings(part)

    for name in ("text", "table", "facts", "figure", "box"):
        plain = getattr(Paper, name)

        def put(self: Paper, *args: Any, _plain: Any = plain, **options: Any) -> Any:
            texts.append(" ".join(strings(args)))
            return _plain(self, *args, **options)

        monkeypatch.setattr(Paper, name, put)
    write_pdf(run, tmp_path / "report.pdf")
    check_text(" ".join(texts), run.audit())


def test_the_model_card_and_the_exports(run: ct.Run, tmp_path: Path) -> None:
    assert run_command(["card", str(run.place), "--out", str(tmp_path / "card.md")]) == 0
    check_text((tmp_path / "card.md").read_text(encoding="utf-8"), run.audit())
    assert run_command(["export", str(run.place), "--what", "groups", "--out", str(tmp_path / "groups.md")]) == 0
    check_text((tmp_path / "groups.md").read_text(encoding="utf-8"), run.audit())


def test_the_viewer(run: ct.Run, known: dict[Key, Interval]) -> None:
    library = Library([Path(run.place)])
    opened = library.open(library.summaries()[0].id)
    shown = opened.estimates(opened.question())
    assert len(shown) == 6
    for e in shown:
        assert (e.low, e.high) == known[e.metric, e.group]


def test_the_gate_decides_on_the_interval_that_it_prints(
    run: ct.Run, known: dict[Key, Interval], tmp_path: Path, capsys: Any
) -> None:
    rules = [
        {"estimate": {"metric": metric, "by": BY, "group": group, "at_least": limit}, "insufficient": "warn"}
        for metric, group in known
        if group
        for limit in (0.01, known[metric, group][0] + 0.001, 0.999)
    ]
    rules += [{"estimate": {"metric": metric, "at_least": 0.01}, "insufficient": "warn"} for metric in (RATE, SCORE)]
    policy = {"rules": rules}
    (tmp_path / "gate.yaml").write_text(json.dumps(policy), encoding="utf-8")
    out = tmp_path / "gate.json"
    code = run_command(["gate", str(run.place), "--policy", str(tmp_path / "gate.yaml"), "--json", str(out)])
    assert code == 1, "a limit of .999 is not kept"
    checks = [check for rule in json.loads(out.read_text(encoding="utf-8"))["rules"] for check in rule["checks"]]
    assert [c["evidence"] for c in checks[:3]] == ["pass", "insufficient", "fail"] and len(checks) == 20
    for check in checks:
        metric = check["about"].split()[0]
        assert (check["low"], check["high"]) == pytest.approx(known[metric, check["group"]], rel=1e-9)
    for line in re.findall(r"\[(-?\d\.\d+), (-?\d\.\d+)\]", capsys.readouterr().out):
        assert any(line == (f"{low:.3f}", f"{high:.3f}") for low, high in known.values())


def test_the_gap_of_a_gate_is_that_of_the_finding(run: ct.Run) -> None:
    audit = run.audit()
    for metric in (RATE, SCORE):
        for f in [f for f in audit.findings if f.metric == metric]:
            rule = {"gap": {"metric": metric, "by": BY, "at_most": 0.9}, "insufficient": "warn"}
            (outcome,) = ct.gate(run, {"rules": [rule]}).rules
            (check,) = [c for c in outcome.checks if c.group == f.group]
            assert (check.low, check.high) == pytest.approx((f.diff_low, f.diff_high), rel=1e-9)
