"""`countenance gate` as it is typed: exit codes, files, and the policy that --init prints."""

import json
import shlex
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

import countenance as ct
from countenance.cli.app import run as run_command
from countenance.gating import output, read_policy
from countenance.gating.outcome import RuleCheck, RuleOutcome
from countenance.gating.output import markdown
from countenance.testing import write_small_dataset

Made = Callable[..., ct.Run]


def command(*arguments: object) -> int:
    return run_command([str(argument) for argument in arguments])


@pytest.fixture
def run(made: Made) -> ct.Run:
    return made({"attr.tone": ["a"] * 200 + ["b"] * 200, "m.ok": [1] * 180 + [0] * 20 + [1] * 190 + [0] * 10})


def written(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


RULES = """
rules:
  - {{estimate: {{metric: ok, at_least: {limit}}}, insufficient: {insufficient}}}
  - {{gap: {{metric: ok, by: tone, at_most: 0.08}}, insufficient: warn}}
"""


def test_exit_codes_and_files(run: ct.Run, tmp_path: Path, capsys, monkeypatch) -> None:
    summary = tmp_path / "summary.md"
    summary.write_text("before\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    policy = written(tmp_path / "gate.yaml", RULES.format(limit=0.85, insufficient="fail"))
    files = {name: tmp_path / name for name in ("junit.xml", "gate.json", "gate.md")}
    options = ["--junit", files["junit.xml"], "--json", files["gate.json"], "--markdown", files["gate.md"]]
    assert command("gate", run.place, "--policy", policy, *options) == 0
    assert capsys.readouterr().out.startswith("gate     passed: of 2 rules, 1 undecided (a warning), 1 passed")
    outcome = json.loads(files["gate.json"].read_text())
    assert outcome["passed"] and [rule["outcome"] for rule in outcome["rules"]] == ["pass", "warn"]
    assert outcome["licences"] == {"data: made": "CC0", "model: net": "MIT"}
    suite = ET.parse(files["junit.xml"]).getroot()
    assert suite.attrib | {"name": ""} == {"name": "", "tests": "2", "failures": "0", "skipped": "1"}
    (skipped,) = suite.iter("skipped")
    assert "insufficient evidence" in skipped.attrib["message"] and "needs about" in skipped.attrib["message"]
    assert (
        summary.read_text().startswith("before\n## ✅ Gate passed")
        and files["gate.md"].read_text() in summary.read_text()
    )

    failing = written(tmp_path / "strict.yaml", RULES.format(limit=0.99, insufficient="fail"))
    assert command("gate", run.place, "--policy", failing, "--junit", files["junit.xml"]) == 1
    assert "gate failed: 1 of 2 rules failed: ok at least 0.99" in capsys.readouterr().err
    assert ET.parse(files["junit.xml"]).getroot().attrib["failures"] == "1"


def test_insufficient_evidence_that_fails_is_skipped_and_a_failure(run: ct.Run, tmp_path: Path) -> None:
    policy = written(tmp_path / "gate.yaml", RULES.format(limit=0.92, insufficient="fail"))
    assert command("gate", run.place, "--policy", policy, "--junit", tmp_path / "j.xml") == 1
    root = ET.parse(tmp_path / "j.xml").getroot()
    assert root.attrib["skipped"] == "2" and root.attrib["failures"] == "1" and root.attrib["tests"] == "3"
    assert len(list(root.iter("testcase"))) == 3 and len(list(root.iter("failure"))) == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["{run}"], "--policy is missing; `countenance gate --init"),
        (["{run}", "--policy", "none.yaml"], "none.yaml: no such file"),
        (["nowhere", "--policy", "{good}"], "nowhere: no run here"),
        (["{run}", "--policy", "{good}", "--baseline", "nowhere"], "nowhere: no run here"),
        (["{run}", "--policy", "{good}", "--baseline", "{run}"], "no rule of the kind regression"),
        (["{run}", "--policy", "{other}"], "no metric 'okk' (did you mean ok?)"),
        (["{run}", "--policy", "{good}", "--json", "{run}"], "s a directory"),
    ],
)
def test_wrong_input_is_exit_2(run: ct.Run, tmp_path: Path, capsys, arguments: list[str], message: str) -> None:
    good = written(tmp_path / "good.yaml", RULES.format(limit=0.5, insufficient="fail"))
    other = written(tmp_path / "other.yaml", RULES.format(limit=0.5, insufficient="fail").replace("ok", "okk"))
    assert command("gate", *(text.format(run=run.place, good=good, other=other) for text in arguments)) == 2
    shown = capsys.readouterr().err
    assert message in shown and shown.count("\n") == 1


def test_init_prints_a_policy_that_is_valid_and_that_the_run_keeps_in_its_numbers(
    run: ct.Run, tmp_path, capsys
) -> None:
    assert command("gate", "--init", run.place) == 0
    text = capsys.readouterr().out
    path = written(tmp_path / "gate.yaml", text)
    policy = read_policy(path)
    assert yaml.safe_load(text)["rules"] and {rule.kind for rule in policy.rules} >= {
        "estimate",
        "gap",
        "verdict",
        "people",
    }
    found = ct.gate(run, path)
    assert all(rule.outcome == "pass" for rule in found.rules if rule.kind in ("estimate", "people", "failed_images"))
    uncommented = text.replace("  # - regression", "  - regression").replace("  #   insufficient", "    insufficient")
    with_baseline = ct.gate(run, read_policy(yaml.safe_load(uncommented)), baseline=run)
    assert with_baseline.rules[-1].kind == "regression" and with_baseline.rules[-1].outcome in ("pass", "warn")


def test_init_of_hostile_names_is_valid(made: Made, tmp_path: Path, capsys) -> None:
    names = {'attr.a: "b" # c': ["x", "y"] * 40, "m.o'k: {\n": [1, 0] * 40}
    assert command("gate", "--init", made(names, licences=("ask\nme: {", "no & <b>")).place) == 0
    assert read_policy(written(tmp_path / "gate.yaml", capsys.readouterr().out)).rules


def test_a_run_without_rows_has_a_policy_and_insufficient_evidence(made: Made, tmp_path: Path, capsys) -> None:
    run = made({"attr.tone": ["a"], "m.ok": [None]})
    assert command("gate", "--init", run.place) == 0
    assert read_policy(written(tmp_path / "gate.yaml", capsys.readouterr().out)).rules
    rules = [
        {"estimate": {"metric": "ok", "at_least": 0.5}},
        {"estimate": {"metric": "ok", "by": "tone", "at_least": 0.5}},
        {"gap": {"metric": "ok", "by": "tone", "at_most": 0.5}},
        {"verdict": {"forbid": "disparity"}},
    ]
    found = ct.gate(run, {"insufficient": "warn", "rules": rules})
    assert [rule.evidence for rule in found.rules] == ["insufficient"] * 4 and all(rule.checks for rule in found.rules)


def test_hostile_names_stay_text_in_the_files(made: Made, tmp_path: Path) -> None:
    run = made({"attr.t": ["<b>&\x01|`", "]]>"] * 40, "m.ok": [1, 0] * 40})
    policy = {"rules": [{"estimate": {"metric": "ok", "by": "t", "at_least": 0.5}, "insufficient": "warn"}]}
    written(tmp_path / "gate.yaml", yaml.safe_dump(policy))
    command(
        "gate",
        run.place,
        "--policy",
        tmp_path / "gate.yaml",
        "--junit",
        tmp_path / "j.xml",
        "--markdown",
        tmp_path / "g.md",
    )
    assert len(list(ET.parse(tmp_path / "j.xml").getroot().iter("testcase"))) == 2
    assert "<b>" not in (tmp_path / "g.md").read_text()


def test_run_checks_licences_first_and_the_rest_last(tmp_path: Path, capsys) -> None:
    data = write_small_dataset(tmp_path / "discs", n=30)
    card = json.loads((data / "card.json").read_text()) if (data / "card.json").exists() else {"name": "discs"}
    (data / "card.json").write_text(json.dumps(card | {"licence": "CC-BY-NC-4.0"}))
    typed = ["run", "face_localization", "--model", "haar", "--data", data, "--out", tmp_path / "run", "-q"]
    assert command(*typed, "--allow-licence", "MIT,Apache-2.0") == 2
    assert "CC-BY-NC-4.0 is not allowed" in capsys.readouterr().err and not (tmp_path / "run").exists()
    policy = written(tmp_path / "gate.yaml", "licences: {allow: [MIT]}\n")
    assert command(*typed, "--policy", policy) == 2 and not (tmp_path / "run").exists()
    policy.write_text(
        "licences: {allow: [CC-BY-NC-4.0, Apache-2.0, Intel's licence]}\n"
        "rules: [{people: {at_least: 100000}, insufficient: fail}]\n"
    )
    assert command(*typed, "--policy", policy) == 1
    assert (tmp_path / "run" / "report.html").exists()
    assert command(*typed, "--allow-licence", "CC-BY-NC-4.0,Apache-2.0", "--allow-licence", "Intel's licence") == 0


def test_fail_on_is_the_short_form(tmp_path: Path, capsys) -> None:
    data = write_small_dataset(tmp_path / "discs", n=30)
    typed = ["run", "face_localization", "--model", "haar", "--data", data, "--out", tmp_path / "run", "-q"]
    assert command(*typed, "--fail-on", "disparities") == 2
    assert "did you mean disparity" in capsys.readouterr().err
    assert command(*typed, "--fail-on", "disparity") == 0, "too few people to show one"
    assert command(*typed, "--fail-on", "disparity,insufficient") == 1


@pytest.mark.parametrize(("limit", "code"), [(0.5, 0), (0.99, 1)])
def test_a_reader_who_leaves_early_does_not_change_the_exit_code(
    run: ct.Run, tmp_path: Path, limit: float, code: int
) -> None:
    """`gate … | head -1`: exit 1 says that the run may not ship, and nothing else does."""
    policy = written(tmp_path / "gate.yaml", RULES.format(limit=limit, insufficient="fail"))
    asked = [Path(sys.executable).with_name("countenance"), "gate", run.place, "--policy", str(policy)]
    with subprocess.Popen(asked, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.close()
        process.stderr.read()
        assert process.wait() == code


@pytest.mark.skipif(sys.platform == "win32", reason="a shell's >&- closes a stream")
@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-"])
@pytest.mark.parametrize(("limit", "code"), [(0.5, 0), (0.99, 1)])
def test_a_stream_that_is_closed_does_not_change_the_exit_code(
    run: ct.Run, tmp_path: Path, limit: float, code: int, closed: str
) -> None:
    policy = written(tmp_path / "gate.yaml", RULES.format(limit=limit, insufficient="fail"))
    asked = [str(Path(sys.executable).with_name("countenance")), "gate", run.place, "--policy", str(policy)]
    line = " ".join(shlex.quote(str(part)) for part in asked)
    assert subprocess.run(["/bin/sh", "-c", f"{line} {closed}"], capture_output=True, check=False).returncode == code


def test_ten_lines_failed_rules_first_passed_ones_counted(made: Made, tmp_path: Path, capsys) -> None:
    groups = [f"g{i}" for i in range(20) for _ in range(60)]
    rows = [int(place % 10 > 0 and group not in ("g3", "g7")) for place, group in enumerate(groups)]
    run = made({"attr.tone": groups, "m.ok": rows})
    failing = [{"estimate": {"metric": "ok", "by": "tone", "at_least": 0.5 + i / 100}} for i in range(12)]
    passing = [{"people": {"at_least": 1}}, {"failed_images": {"at_most": 0.5}}]
    policy = written(tmp_path / "gate.yaml", yaml.safe_dump({"insufficient": "warn", "rules": passing + failing}))
    assert command("gate", run.place, "--policy", policy) == 1
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 10 and max(map(len, output.lines(ct.gate(run, policy), width=80))) <= 80
    assert lines[0].startswith("gate     FAILED: of 14 rules, 12 failed, 2 passed")
    assert all(
        line.startswith("FAIL     ok of each tone at least 0.5") and "tone g3 0.000" in line for line in lines[2:8]
    )
    assert lines[8].strip().startswith("and 6 more") and lines[9] == "pass     2 rules"


def test_the_interval_that_is_printed_is_the_one_that_decided(made: Made) -> None:
    groups = ["a"] * 60 + ["b"] * 60 + ["c"] * 60
    run = made({"attr.tone": groups, "m.ok": [0, 1, 1] * 20 + [1] * 120})
    rule = {"estimate": {"metric": "ok", "by": "tone", "at_least": 0.85}, "insufficient": "warn"}
    outcome = ct.gate(run, {"rules": [rule]})
    worst = outcome.rules[0].worst
    assert worst is not None and worst.evidence == "fail" and worst.group == "a"
    one_group = {"estimate": {"metric": "ok", "by": "tone", "group": "a", "at_least": 0.85}, "insufficient": "warn"}
    alone = ct.gate(run, {"alpha": 0.05 / 3, "rules": [one_group]}).rules[0].checks[0]
    assert (worst.low, worst.high) == pytest.approx((alone.low, alone.high)) and worst.high < 0.85
    assert f"[{worst.low:.3f}, {worst.high:.3f}]" in str(outcome) and str(outcome).count("[") == 1


def test_init_begins_with_who_people_are_and_has_no_rule_of_this_machine(made: Made, capsys) -> None:
    columns = {"attr.hat": ["y", "n"] * 100, "attr.light": ["dim"] * 100 + ["sun"] * 100, "attr.pose": ["l", "r"] * 100}
    people = {"attr.gender": ["f", "m"] * 100, "attr.age_group": ["18_30", "31_60"] * 100}
    people["attr.skin_tone"] = ["monk_1"] * 100 + ["monk_9"] * 100
    assert command("gate", "--init", made(columns | people | {"m.ok": [1, 1, 0, 1] * 50}).place) == 0
    text = capsys.readouterr().out
    by = [rule["gap"]["by"] for rule in yaml.safe_load(text)["rules"] if "gap" in rule]
    assert by == ["skin_tone", "age_group", "gender"] and "speed" not in text


def test_in_a_notebook_and_as_text(made: Made) -> None:
    run = made({"attr.tone": ["<b>", "b"] * 100, "m.ok": [0, 1] * 100})
    rules = [{"estimate": {"metric": "ok", "by": "tone", "at_least": 0.9 + i / 100}} for i in range(9)]
    outcome = ct.gate(run, {"insufficient": "fail", "rules": rules})
    assert len(repr(outcome).splitlines()) == 5 and repr(outcome).startswith("gate     FAILED")
    page = outcome._repr_html_()
    assert "may not ship" in page and "&lt;b&gt;" in page and "<b>" not in page and page.count("<tr>") == 10


def test_pages_say_rules_and_groups_in_words_and_begin_with_what_did_not_pass(tmp_path: Path) -> None:
    checks = [
        RuleCheck(
            about="recall@0.5, gender = male against gender = female",
            metric="recall@0.5",
            attribute="gender",
            group=group,
            versus=versus,
            direction=direction,
            evidence="fail",
            reason="0.2; wanted a gap of at most 0.05",
            value=0.2,
            low=0.1,
            high=0.3,
            beyond=beyond,
        )
        for group, versus, direction, beyond in (("female", "male", "better", 0.9), ("male", "female", "worse", 0.15))
    ]
    name, title = "gap of recall@0.5 by age_group at most 0.05", "gap of faces found by age group at most 0.05"
    rule = RuleOutcome.of(name, "gap", "fail", checks).model_copy(update={"title": title})
    fine = RuleOutcome.of("failed images at most 5 %", "failed_images", "fail", [])
    fine = fine.model_copy(update={"outcome": "pass", "evidence": "pass"})
    nouns = {"recall@0.5": "faces found"}
    outcome = ct.Gate(passed=False, run="r", model="m", dataset="d", alpha=0.05, rules=[fine, rule], metric_nouns=nouns)
    page, text = outcome._repr_html_(), markdown(outcome)
    first = text.partition("<details>")[0]
    assert title in first and "male 0.200 [0.100, 0.300] against female" in first.replace("\\", "")
    assert "failed images" not in first and "recall@0.5" not in text
    assert title in page and f'title="{name}"' in page and ">gap of recall" not in page


def test_a_rule_without_a_name_has_its_words_as_title(run: ct.Run) -> None:
    rules = [
        {"gap": {"metric": "ok", "by": "tone", "at_most": 0.05}, "insufficient": "warn"},
        {"name": "mine_own", "people": {"at_least": 1}, "insufficient": "warn"},
    ]
    assert [rule.title for rule in ct.gate(run, {"rules": rules}).rules] == [
        "gap of ok by tone at most 0.05",
        "mine_own",
    ]
