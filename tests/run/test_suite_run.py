"""A suite is a value that is run: ours, and one of somebody else's file."""

import textwrap

import pytest

from countenance.cli.app import run as command
from countenance.errors import InputError
from countenance.run import Run, read_audit
from countenance.run.suite import Suite, SuiteTask, load_suite, suite_names

FACES = Suite(
    "faces", "Is every face found?", datasets=("people",), tasks=(SuiteTask("face_localization"),), audit={"depth": 1}
)


def test_one_task_leaves_one_audited_run_in_its_place(tmp_path):
    (run,) = FACES.run(data="people:portraits", model="haar", out=tmp_path / "run", limit=8, by=["gender"], min_n=2)
    assert run.path == tmp_path / "run" and run.manifest.suite == "faces"
    audit = read_audit(run)
    assert audit.settings["by"] == ["gender"] and audit.settings["min_n"] == 2 and audit.settings["depth"] == 1


def test_several_tasks_leave_a_run_each_and_one_can_be_chosen(tmp_path):
    both = Suite("both", "?", tasks=(SuiteTask("face_localization"), SuiteTask("person_localization")))
    runs = both.run("people:portraits", "haar", tmp_path, limit=4, allow_mismatch=True)
    assert [run.path.name for run in runs] == ["face_localization", "person_localization"]
    (one,) = both.run("people:portraits", "haar", tmp_path / "one", limit=4, tasks="face_localization")
    assert one.manifest.task == "face_localization"


def test_tasks_that_do_not_fit_are_left_out(tmp_path):
    picky = Suite(
        "picky",
        "?",
        tasks=(SuiteTask("face_localization"), SuiteTask("person_localization", fits=lambda data, model: False)),
    )
    assert len(picky.run("people:portraits", "haar", tmp_path, limit=4)) == 1
    with pytest.raises(InputError, match="no task fits"):
        Suite("none", "?").run("people:portraits", "haar", tmp_path)


@pytest.mark.parametrize(
    "options, problem",
    [
        ({"task": "faces"}, "has no task 'faces'|is not one of"),
        ({"lmit": 3}, "no option 'lmit' .did you mean limit"),
        ({"workers": 0}, "workers is 0"),
        ({"by": ["hair_colour_of_dog"]}, "no attribute"),
    ],
)
def test_wrong_options_are_refused_before_anything_is_evaluated(tmp_path, options, problem):
    with pytest.raises(InputError, match=problem):
        FACES.run("people:portraits", "haar", tmp_path / "run", **options)
    assert not (tmp_path / "run" / "run.json").exists()


def test_an_outsiders_suite_has_the_commands_of_ours(tmp_path, capsys):
    code = """
        from countenance import Suite, SuiteTask

        def publish(run):
            with run.store.replacing("mine.txt"):
                run.store.storage.write("mine.txt", str(run.scores().num_rows).encode())
            return ["mine.txt"]

        MINE = Suite("mine", "Is it mine?", tasks=(SuiteTask("face_localization"),), publish=publish)
    """
    (tmp_path / "mine.py").write_text(textwrap.dedent(code))
    out = tmp_path / "run"
    line = ["suite", "run", f"{tmp_path}/mine.py:MINE", "--data", "people:portraits", "--model", "haar"]
    assert command([*line, "--limit", "6", "--by", "gender", "--out", str(out), "-q"]) == 0
    assert (out / "mine.txt").is_file() and (out / "report.html").is_file()
    capsys.readouterr()
    assert command(["verify", str(out)]) == 0
    assert command(["audit", str(out), "--by", "gender", "-q"]) == 0


def test_every_suite_is_listed_with_its_question(capsys):
    assert command(["suite", "list"]) == 0
    shown = capsys.readouterr().out
    for name in suite_names():
        assert load_suite(name).question in shown


def test_a_suite_that_is_none_is_told():
    with pytest.raises(InputError, match=r"no suite 'mask_farness' \(did you mean mask_fairness"):
        load_suite("mask-farness")
    with pytest.raises(InputError, match="that is a builtin_function_or_method, expected a Suite"):
        load_suite("math:sqrt")


def test_tasks_by_value_and_by_code_have_their_own_names(tmp_path, monkeypatch):
    """A task may be a `Task` or `module:attr`: its run lies in a folder of its name, which chooses it, too."""
    text = """
        from dataclasses import replace
        import countenance as ct
        MINE = replace(ct.load_task("face_localization"), name="mine")
    """
    (tmp_path / "my_suite_task.py").write_text(textwrap.dedent(text))
    monkeypatch.syspath_prepend(str(tmp_path))
    from my_suite_task import MINE  # type: ignore[import-not-found]

    for task in (MINE, "my_suite_task:MINE", f"{tmp_path}/my_suite_task.py:MINE"):
        suite = Suite("both", "?", tasks=(SuiteTask(task), SuiteTask("face_localization")))
        runs = suite.run("people:portraits", "haar", tmp_path / "out", limit=4)
        assert [run.path.name for run in runs] == ["mine", "face_localization"]
        (single,) = suite.run("people:portraits", "haar", tmp_path / "single", limit=4, tasks="mine")
        assert single.manifest.task == "mine"


def test_a_suite_that_is_not_installed_has_its_sections_and_options(tmp_path, monkeypatch, capsys):
    """Its page has its sections; an option of its task that is called like a setting is the task's; workers find it."""
    text = """
        import countenance as ct

        class Limits(ct.Options):
            limit: float = 5.0

        def made(options):
            def score(sample, answer):
                return [ct.subject_row(sample, None) | {"m.few": float(len(answer) <= options.limit)}]
            return ct.Task(
                "few", "Are few faces found?", ct.Boxes, (ct.Metric("few", "share with few", "higher", headline=True),),
                coerce=ct.to_boxes, score=score, options=options, make=made,
            )

        FEW = made(Limits())
        OURS = ct.Suite(
            "ours", "?", tasks=(ct.SuiteTask(f"{__file__}:FEW"),),
            sections=lambda source: [("ours", "Our section", "<p>of our own</p>")],
        )
    """
    (tmp_path / "ours.py").write_text(textwrap.dedent(text))
    line = ["suite", "run", f"{tmp_path}/ours.py:OURS", "--data", "people:portraits", "--model", "haar", "-q"]
    assert command([*line, "--limit", "6", "--option", "limit=0", "--out", str(tmp_path / "run")]) == 0
    assert "exists in this program alone" not in capsys.readouterr().err
    run = Run(tmp_path / "run")
    assert run.manifest.dataset.images == 6 and run.manifest.options == {"limit": 0.0}
    assert set(run.scores()["m.few"].to_pylist()) <= {0.0, 1.0} and 0.0 in run.scores()["m.few"].to_pylist()
    assert "of our own" in (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
    assert command([*line, "--option", "limits=0", "--out", str(tmp_path / "run")]) == 2
    assert "no option 'limits' (did you mean limit?); its tasks have limit" in capsys.readouterr().err
