"""Whose run it is: code and sources that a run names are used only for runs that this user made here."""

import json
import os
import shutil
import sys
from pathlib import Path

import pytest

from countenance.cli.app import run as command
from countenance.errors import InputError
from countenance.run import Run, audit_run, evaluate, store_audit, trust
from countenance.run.purge import purge
from countenance.run.store import RunStore
from countenance.testing import DiscDetector, write_small_dataset

TASK = """
import os, pathlib
from dataclasses import replace
from countenance.tasks import Number, Reduce, Reduced, load_task

with pathlib.Path(os.environ["IMPORTED"]).open("a") as stream:
    stream.write("x")

base = load_task("face_localization")
reduce = Reduce(
    partial=lambda shard: {"n": __import__("numpy").array([len(shard.samples)])},
    finish=lambda state, whole: Reduced([Number(name="images", value=float(state["n"].sum()))]),
)
MINE = replace(base, name="mine", question="is mine found?", reduce=reduce, make=None, options=None)
"""


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """A run of a custom task whose code is in a folder of the user."""
    code = tmp_path / "code"
    code.mkdir()
    sys.modules.pop("custom_task", None)
    (code / "custom_task.py").write_text(TASK)
    monkeypatch.setenv("IMPORTED", str(tmp_path / "imported"))
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.chdir(code)
    data = write_small_dataset(tmp_path / "set", n=40, size=16)
    made = evaluate(DiscDetector(), "custom_task:MINE", data, out=tmp_path / "run", shard=16)
    store_audit(made, audit_run(made, by=["gender"], adjust="holm"))
    forget_code(monkeypatch, tmp_path)
    return made


def forget_code(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """As in a new process, somewhere else."""
    sys.modules.pop("custom_task", None)
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if "code" not in Path(entry).name])
    (folder / "imported").unlink(missing_ok=True)
    (folder / "elsewhere").mkdir(exist_ok=True)
    monkeypatch.chdir(folder / "elsewhere")


def another_user(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    monkeypatch.setenv("COUNTENANCE_STATE", str(folder / "their state"))


def test_reports_cards_and_exports_need_no_code(own: Run, tmp_path: Path, monkeypatch, capsys) -> None:
    for words in (["report", "--out"], ["card", "--out"], ["export", "--what", "groups", "--format", "csv", "--out"]):
        assert command([words[0], own.place, *words[1:], str(tmp_path / "page")]) == 0
    assert not (tmp_path / "imported").exists()
    task = Run(own.path).task()
    assert task is not None and (task.name, task.question) == ("mine", "is mine found?")
    assert [metric.name for metric in task.metrics] == [record.name for record in own.manifest.metrics or ()]
    with pytest.raises(InputError, match="trust_code=True"):
        task.score(None, None)


def test_the_code_of_a_run_made_here_is_found_again_from_anywhere(own: Run, tmp_path: Path) -> None:
    before = own.results()[0].value
    purge(own.path, ["id0003"])
    assert (tmp_path / "imported").exists() and Run(own.path).results()[0].value == before - 2
    assert str(tmp_path / "code") not in sys.path


def test_the_code_of_a_foreign_run_is_imported_only_when_that_is_asked_for(
    own: Run, tmp_path: Path, monkeypatch
) -> None:
    another_user(monkeypatch, tmp_path)
    names = tmp_path / "gone.txt"
    names.write_text("id0003\n")
    shutil.copytree(own.path, tmp_path / "copy")
    shutil.copytree(own.path, tmp_path / "third")
    assert command(["purge", own.place, "--subjects", str(names)]) == 0
    assert not (tmp_path / "imported").exists()
    assert "trust_code=True imports it, if you know what it does" in Run(own.path).manifest.notes[-1]
    monkeypatch.chdir(tmp_path / "code")
    data = ["--data", f"discs={tmp_path / 'set'}"]
    assert command(["purge", str(tmp_path / "copy"), "--subjects", str(names), "--trust-code", *data]) == 0
    assert not (tmp_path / "imported").exists(), "the current folder is never searched for the code of a run"
    monkeypatch.syspath_prepend(str(tmp_path / "code"))
    monkeypatch.chdir(tmp_path)
    assert command(["purge", str(tmp_path / "third"), "--subjects", str(names), "--trust-code", *data]) == 0
    assert (tmp_path / "imported").exists() and Run(tmp_path / "third").results()[0].value == 38


def test_a_mark_holds_for_what_it_was_made_over(own: Run, tmp_path: Path) -> None:
    assert own.made_here and Run(own.path).local.code == str(tmp_path / "code")
    manifest = json.loads((own.path / "run.json").read_text())
    local = json.loads((own.path / "local.json").read_text())
    named = ({"task_source": "pwn:x"}, {"suite": "pwn"}, {"options": {"a": 1}}, {"about": {"a": 1}}, {"key": "0"})
    placed = ({"source": "/usr"}, {"code": "/usr"}, {"paths": {"data": "/usr"}}, {"mark": ""}, {"mark": "ü"})
    changes = [*((manifest | one, local) for one in named), *((manifest, local | one) for one in placed)]
    for one, two in changes:
        (own.path / "run.json").write_text(json.dumps(one))
        (own.path / "local.json").write_text(json.dumps(two))
        found = Run(own.path, verified=False)
        assert not found.made_here and found.local.source is None
    (own.path / "run.json").write_text(json.dumps(manifest | {"notes": ["a note is no name"]}))
    (own.path / "local.json").write_text(json.dumps(local))
    assert Run(own.path, verified=False).made_here


def test_a_folder_for_the_secret_is_made_for_its_owner_alone(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("COUNTENANCE_STATE", str(tmp_path / "state"))
    first = trust.kept_secret()
    assert first is not None and len(first) == 32 and trust.kept_secret() == first == trust.user_secret()
    path = tmp_path / "state" / "secret"
    assert path.stat().st_mode & 0o777 == 0o600 and path.parent.stat().st_mode & 0o077 == 0
    path.chmod(0o666)
    assert trust.kept_secret() is None, "somebody else could have written it"
    path.chmod(0o600)
    path.write_bytes(b"short")
    assert trust.kept_secret() is None
    path.unlink()
    path.symlink_to(tmp_path / "theirs")
    assert trust.kept_secret() is None and not (tmp_path / "theirs").exists()


@pytest.mark.parametrize("variable", ["COUNTENANCE_STATE", "XDG_STATE_HOME"])
def test_the_folder_of_the_secret_can_be_named(tmp_path: Path, monkeypatch, variable: str) -> None:
    monkeypatch.delenv("COUNTENANCE_STATE")
    monkeypatch.setenv(variable, str(tmp_path))
    assert trust.state_folder().is_relative_to(tmp_path)


def test_a_home_that_cannot_be_written_to_costs_later_commands_the_trust(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("COUNTENANCE_STATE", "/proc/no/such/place")
    data = write_small_dataset(tmp_path / "set", n=8, size=16)
    made = evaluate(DiscDetector(), "face_localization", data, out=tmp_path / "run")
    assert made.made_here and made.dataset().name == "discs"
    monkeypatch.setattr(trust, "_of_this_process", os.urandom(32))
    later = Run(tmp_path / "run")
    assert not later.made_here
    with pytest.raises(InputError, match="was not made here, so the dataset that it names is not looked for"):
        later.dataset()
    assert Run(tmp_path / "run", data={"discs": data}).dataset().name == "discs"


def test_data_of_this_package_is_found_for_every_run(own: Run, tmp_path: Path, monkeypatch) -> None:
    another_user(monkeypatch, tmp_path)
    found = Run(own.path)
    for source, good in (("people:portraits", True), ("people", True), ("people:../x", False), ("bafmd:/usr", False)):
        found.manifest.dataset.source = source
        if good:
            assert found._source() == source
        else:
            with pytest.raises(InputError, match="was not made here"):
                found._source()


def test_a_run_that_was_not_verified_is_refused_part_by_part(own: Run) -> None:
    for name in ("scores.parquet", "failures.parquet", "results.json", "audit.json", "shards/00000.json"):
        path = own.path / name
        whole = path.read_bytes()
        path.write_bytes(whole + b" ")
        found = Run(own.path)
        uses = {
            "scores.parquet": found.scores,
            "failures.parquet": found.failures,
            "results.json": found.results,
            "audit.json": lambda found=found: __import__("countenance.run", fromlist=["x"]).read_audit(found),
            "shards/00000.json": lambda found=found: found.store.shard_failures(0),
        }
        for other, use in uses.items():
            if other == name:
                with pytest.raises(InputError, match="its content is not what was written"):
                    use()
            else:
                use()
        path.write_bytes(whole)
    RunStore(own.path).seal()
    assert Run(own.path).scores().num_rows
