"""The pool: results in order, deaths survived, nothing left running."""

import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from countenance.errors import InputError
from countenance.run.engine.processes import Death, Pool, WorkerDied, each
from countenance.worker_process import Order


@pytest.fixture(autouse=True)
def importable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parent))


def run(name: str, orders: list[Order], **settings: Any) -> list[Any]:
    return each(f"pool_targets:{name}", {}, orders, **settings)


def test_results_come_in_the_order_of_the_orders() -> None:
    heard: list[tuple[int, Any]] = []
    found = run(
        "square", [{"n": n} for n in range(9)], workers=3, heard=lambda i, message: heard.append((i, message["n"]))
    )
    assert found == [n * n for n in range(9)] and sorted(heard) == [(n, n) for n in range(9)]


def test_standard_input_is_empty_and_prints_do_no_harm() -> None:
    assert run("reads_input", [{}]) == ["end of file"]


def test_a_changed_folder_harms_nothing(tmp_path: Path) -> None:
    assert run("changes_folder", [{"to": str(tmp_path)}, {"to": str(tmp_path)}]) == [str(tmp_path)] * 2


def test_a_worker_that_dies_once_is_replaced(tmp_path: Path) -> None:
    assert run("dies_once", [{"mark": str(tmp_path / "mark")}]) == ["survived"]


def test_a_worker_that_always_dies_is_given_up_with_the_reason() -> None:
    with pytest.raises(InputError, match=r"ended twice on the same piece of work: .* ended with code 7"):
        run("dies", [{}])


def test_a_worker_that_cannot_start_says_why() -> None:
    with pytest.raises(InputError, match="no luck today"):
        run("cannot_start", [{}])


def test_an_error_of_the_input_is_one_line_and_a_bug_has_its_traceback() -> None:
    with pytest.raises(InputError, match=r"^that is wrong$"):
        run("refuses", [{}])
    with pytest.raises(RuntimeError, match=r"Traceback[\s\S]*ZeroDivisionError"):
        run("breaks", [{}])
    with pytest.raises(InputError, match="nowhere: No such file"):
        run("misses_a_file", [{}])


@pytest.mark.parametrize("how", ["forks", "forks_away"])
def test_what_a_worker_started_ends_with_it(tmp_path: Path, how: str) -> None:
    (child,) = run(how, [{}])
    end = time.monotonic() + 5
    while _alive(child) and time.monotonic() < end:
        time.sleep(0.1)
    assert not _alive(child)


def _alive(process: int) -> bool:
    try:
        return "Z" not in Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return False


class Once:
    """Gives one order and remembers what became of it."""

    def __init__(self) -> None:
        self.given = False
        self.death: Death | None = None

    def next(self) -> Order | None:
        if self.given:
            return None
        self.given = True
        return {}

    def heard(self, order: Order, message: Mapping[str, Any]) -> None: ...

    def done(self, order: Order, result: Any) -> None: ...

    def died(self, order: Order, death: Death) -> None:
        self.death = death

    def finished(self) -> bool:
        return self.death is not None


@pytest.mark.parametrize(
    ("name", "signal", "overdue"), [("hangs", None, True), ("killed", 9, False), ("closes_everything", None, False)]
)
def test_how_a_worker_ended_is_known(name: str, signal: int | None, overdue: bool) -> None:
    supervisor = Once()
    Pool(f"pool_targets:{name}", {}).run(supervisor)
    assert supervisor.death is not None
    assert (supervisor.death.signal, supervisor.death.overdue) == (signal, overdue)


def test_no_handles_are_left_open() -> None:
    run("square", [{"n": 1}])
    before = len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(3):
        run("square", [{"n": 1}])
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_modules_in_the_current_folder_are_not_imported_by_workers(tmp_path: Path, monkeypatch) -> None:
    """A folder that a stranger sent may hold a `numpy.py`; a command that runs in it imports the real one."""
    for name in ("numpy", "secrets", "pydantic", "json"):
        (tmp_path / f"{name}.py").write_text("import pathlib\npathlib.Path('ran').touch()\nraise SystemExit(9)\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if entry])
    assert run("square", [{"n": 3}]) == [9]
    assert not (tmp_path / "ran").exists()


def test_a_folder_that_is_on_the_path_is_on_that_of_workers(tmp_path: Path, monkeypatch) -> None:
    (tmp_path / "own_target.py").write_text("def made(job):\n    return lambda order, tell: order['n'] + 1\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", ["", *sys.path])
    assert each("own_target:made", {}, [{"n": 3}]) == [4]


def test_a_worker_that_is_asked_stays_and_one_that_ends_is_told_and_replaced(tmp_path: Path) -> None:
    pool = Pool("pool_targets:square", {})
    started = time.monotonic()
    assert [pool.ask({"n": n}) for n in range(20)] == [n * n for n in range(20)]
    assert pool._crew is not None and len(pool._crew.members) == 1
    process = pool._crew.members[0].process
    pool.close()
    assert process.poll() is not None and time.monotonic() - started < 60
    mortal = Pool("pool_targets:dies_once", {})
    with pytest.raises(WorkerDied, match="ended with code 3"):
        mortal.ask({"mark": str(tmp_path / "mark")})
    assert mortal.ask({"mark": str(tmp_path / "mark")}) == "survived"
    mortal.close()


def test_a_worker_of_a_run_imports_no_audit() -> None:
    """Every worker pays for what it imports, and a run may start hundreds."""
    code = "import sys, countenance.run.engine.worker; print(*sys.modules, sep='\\n')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = done.stdout.split()
    assert "countenance.run.engine.worker" in loaded
    others = ("countenance.auditing", "countenance.report", "countenance.suites", "scipy", "pandas", "typer")
    assert [name for name in loaded if name.startswith(others)] == []
