"""The tests of a mutation: which test runs which line, and one run of some of them in a process of its own."""

import contextlib
import functools
import hashlib
import importlib
import json
import os
import signal
import sys
import threading
import time
import traceback
import types
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

ARGUMENTS = [
    "-x",
    "-q",
    "-n",
    "0",
    "-p",
    "no:cacheprovider",
    "--no-header",
    "--tb=no",
    "-W",
    "ignore::pytest.PytestAssertRewriteWarning",
    "-W",
    "ignore::pytest.PytestCollectionWarning",
]
LEFT_OUT = ("countenance", "tests", "conftest", "mutate", "__main__", "_pytest", "xdist", "ray", "torch", "playwright")
"""Modules that are not loaded ahead: ours, and those that start threads."""


def settle_hypothesis() -> None:
    """The same examples every time, and none refused for a slow machine."""
    import hypothesis

    hypothesis.settings.register_profile("mutate", deadline=None, database=None, derandomize=True)
    hypothesis.settings.load_profile("mutate")


def is_test(item: pytest.Item) -> bool:
    """Whether an item is a test or a doctest; a function of the sources whose name begins with test is neither."""
    return isinstance(item, pytest.DoctestItem) or not item.nodeid.startswith("src/")


class _Recorder:
    """Note which lines of the package each test runs, and how long it takes."""

    def __init__(self, inside: str) -> None:
        self.inside = inside
        self.tests: dict[str, dict[str, Any]] = {}
        self.failed: list[str] = []
        self.lines: dict[types.CodeType, set[int]] = {}
        self.of: dict[types.CodeType, set[int]] = {}
        self.collecting: dict[str, dict[str, set[int]]] = {}

    def _call(self, frame: types.FrameType, event: str, _: Any) -> Any:
        code = frame.f_code
        if not code.co_filename.startswith(self.inside):
            return None
        seen = self.lines.setdefault(code, set())
        every = self.of.get(code)
        if every is None:
            every = self.of[code] = {line for _, _, line in code.co_lines() if line}
        if seen >= every:
            return None

        def local(frame: types.FrameType, event: str, _: Any) -> Any:
            if event == "line":
                seen.add(frame.f_lineno)
            return local

        seen.add(frame.f_lineno)
        return local

    def pytest_configure(self) -> None:
        settle_hypothesis()

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = [one for one in items if is_test(one)]

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Any:
        before, start = time.process_time(), time.monotonic()
        self._begin()
        yield
        files = self._end()
        for name, seen in self.collecting.get(item.nodeid.split("::")[0], {}).items():
            files.setdefault(name, set()).update(seen)
        self.tests[item.nodeid] = {
            "seconds": max(time.process_time() - before, 0.2 * (time.monotonic() - start)),
            "lines": {name: sorted(seen) for name, seen in files.items()},
        }

    @pytest.hookimpl(hookwrapper=True)
    def pytest_make_collect_report(self, collector: pytest.Collector) -> Any:
        if not isinstance(collector, pytest.Module):
            yield
            return
        self._begin()  # what parameters of tests are made of belongs to every test of the file
        yield
        self.collecting[collector.nodeid.split("::")[0]] = self._end()

    def _begin(self) -> None:
        self.lines = {}
        threading.settrace(self._call)
        sys.settrace(self._call)

    def _end(self) -> dict[str, set[int]]:
        sys.settrace(None)
        threading.settrace(None)  # type: ignore[arg-type]
        files: dict[str, set[int]] = {}
        for code, seen in self.lines.items():
            if code.co_name != "<module>":
                files.setdefault(code.co_filename, set()).update(seen)
        return files

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self.failed.append(report.nodeid)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.failed.append(report.nodeid)
        if report.skipped:
            self.tests.pop(report.nodeid, None)


class _Chosen:
    """Run these tests only, in this order."""

    def __init__(self, names: list[str]) -> None:
        self.order = {name: k for k, name in enumerate(names)}
        self.first = ""

    def pytest_configure(self) -> None:
        settle_hypothesis()

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = sorted((one for one in items if is_test(one) and one.nodeid in self.order), key=self._place)

    def _place(self, item: pytest.Item) -> int:
        return self.order[item.nodeid]

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self.first = self.first or report.nodeid

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.first = self.first or report.nodeid


def inside(copy: Path) -> None:
    """This process works in the copy, with its sources first."""
    os.chdir(copy)
    os.environ["PYTHONPATH"] = str(copy / "src")
    sys.path[:0] = [str(copy / "src"), str(copy)]
    os.environ.setdefault("OMP_NUM_THREADS", "1")


def quiet(log: Path) -> None:
    """What the tests print goes to a file."""
    null, out = os.open(os.devnull, os.O_RDONLY), os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    for number, target in ((null, 0), (out, 1), (out, 2)):
        os.dup2(number, target)


@dataclass(eq=False)
class Map:
    """Each test with its seconds and the lines that it runs."""

    tests: dict[str, dict[str, Any]] = field(default_factory=dict)
    failed: list[str] = field(default_factory=list)
    libraries: list[str] = field(default_factory=list)
    imported: dict[str, list[int]] = field(default_factory=dict)
    """By file the lines of functions that run when the package is imported or tests are collected."""
    called: dict[str, set[int]] = field(default_factory=dict)
    """By file the lines of functions that its own module calls when it is imported, whenever that is."""
    changed: set[str] = field(default_factory=set)
    """Sources that are no longer as they were when the lines were noted."""

    @classmethod
    def made(cls, copy: Path, paths: list[str], kept: Path, older: bool = False) -> "Map":
        """Run the tests once; a file of tests is left out where neither it nor a source that it runs has changed.

        With `older`, one whose sources alone have changed is left out as well: of a changed source its tests are then
        known by file, not by line.
        """
        kept.mkdir(parents=True, exist_ok=True)
        sources = {str(path.relative_to(copy)): _hash(path) for path in (copy / "src").rglob("*.py")}
        made = cls()
        new: list[Path] = []
        for path in paths:
            files = sorted((copy / path).rglob("*.py")) if (copy / path).is_dir() else [copy / path]
            for file in files:
                if file.name.startswith("test_") or "src" in file.relative_to(copy).parts:
                    place = kept / _key(file, copy)
                    old = json.loads(place.read_text()) if place.exists() else None
                    changed = (
                        {name for name, known in old["sources"].items() if sources.get(name) != known} if old else ()
                    )
                    if old and (older or not changed):
                        made._add(old)
                        made.changed.update(changed)
                    else:
                        new.append(file)
        if new:
            out = kept / "new.json"
            out.unlink(missing_ok=True)
            pid = os.fork()
            if pid == 0:
                _record(copy, [str(file.relative_to(copy)) for file in new], out)
            os.waitpid(pid, 0)
            if not out.exists():
                made.failed.append("the run that maps tests to lines")
                return made
            found = json.loads(out.read_text())
            for file in new:
                name = str(file.relative_to(copy))
                of_file = {key: one for key, one in found["tests"].items() if key.split("::")[0] == name}
                ran = {source for one in of_file.values() for source in one["lines"]} | {name}
                part = {"tests": of_file, "failed": [], "libraries": found["libraries"]}
                part["sources"] = {source: known for source, known in sources.items() if source in ran}
                part["imported"] = {source: lines for source, lines in found["imported"].items() if source in ran}
                if not found["failed"]:
                    (kept / _key(file, copy)).write_text(json.dumps(part))
            made._add(found)
        return made

    def _add(self, found: dict[str, Any]) -> None:
        self.tests |= found["tests"]
        self.failed += found["failed"]
        self.libraries = sorted({*self.libraries, *found["libraries"]})
        for name, lines in found["imported"].items():
            self.imported[name] = sorted({*self.imported.get(name, ()), *lines})

    def at_import(self, file: str, lines: set[int]) -> bool:
        """Whether lines run when modules are imported or tests are collected; no lines: a module's own."""
        if not lines or not lines.isdisjoint(self.called.get(file, ())):
            return True
        return file not in self.changed and not lines.isdisjoint(self.imported.get(file, ()))

    @functools.cache  # noqa: B019
    def _quickest(self) -> dict[str, dict[str, list[int]]]:
        """By test, quickest first, the lines that it runs of each file."""
        order = sorted(self.tests.items(), key=lambda test: float(test[1]["seconds"]))
        return {name: one["lines"] for name, one in order}

    def those_that_run(self, file: str, lines: set[int], seconds: float) -> tuple[list[str], bool]:
        """The tests that run one of the lines, quickest first; whether none was left out for time.

        Any test may read what a line made at import, so there all others come after those that run the file.
        """
        at_import = self.at_import(file, lines)
        quickest = self._quickest()
        seen = {name: one for name, one in quickest.items() if file in one}
        by_file = at_import or file in self.changed
        found = [name for name, files in seen.items() if by_file or not lines.isdisjoint(files[file])]
        if at_import or not found:
            found += [name for name in quickest if name not in set(found)]
        total, chosen = 0.0, []
        for name in found:
            total += self.tests[name]["seconds"]
            if total <= seconds or not chosen:
                chosen.append(name)
        return chosen, len(chosen) == len(found)


def _hash(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _key(file: Path, copy: Path) -> str:
    text = f"{file.relative_to(copy)} {_hash(file)}".encode()
    return hashlib.sha256(text).hexdigest()[:24] + ".json"


def _record(copy: Path, paths: list[str], out: Path) -> None:
    """Run the tests, write what each ran, and end this process."""
    code = 1
    try:
        before = set(sys.modules)
        quiet(copy / "log")
        inside(copy)
        recorder = _Recorder(str(copy / "src"))
        recorder._begin()
        for path in {name.removeprefix("src/").removeprefix("tests/").split("/")[0] for name in paths}:
            with contextlib.suppress(Exception):
                importlib.import_module(path if path == "countenance" else f"countenance.{path}")
        imported = recorder._end()
        pytest.main([*(one for one in ARGUMENTS if one != "-x"), *paths], plugins=[recorder])
        for files in recorder.collecting.values():
            for name, seen in files.items():
                imported.setdefault(name, set()).update(seen)
        start = f"{copy}/"
        tests = {
            name: {"seconds": one["seconds"], "lines": {f.removeprefix(start): v for f, v in one["lines"].items()}}
            for name, one in recorder.tests.items()
        }
        libraries = sorted(name for name in set(sys.modules) - before if name.split(".")[0] not in LEFT_OUT)
        found = {"tests": tests, "failed": recorder.failed, "libraries": libraries}
        found["imported"] = {name.removeprefix(start): sorted(seen) for name, seen in imported.items()}
        out.write_text(json.dumps(found))
        code = 0
    finally:
        os._exit(code)


def load_libraries(names: list[str]) -> None:
    """Load what the tests will import, once, so that each process of a mutation finds it loaded."""
    installed = (str(Path(sys.prefix)), str(Path(os.__file__).parent))
    for name in names:
        with contextlib.suppress(BaseException):
            spec = importlib.util.find_spec(name.split(".")[0])
            if spec and str(spec.origin).startswith((*installed, "built-in", "frozen")):
                importlib.import_module(name)


def forget_compiled(path: Path) -> None:
    """Remove the compiled form of a source file."""
    for old in (path.parent / "__pycache__").glob(f"{path.stem}.*"):
        old.unlink(missing_ok=True)


def run(copy: Path, names: list[str]) -> tuple[str, str]:
    """Run some tests until the first failure: caught, survived or not in time, and by which test."""
    report = copy / "outcome"
    report.unlink(missing_ok=True)
    pid = os.fork()
    if pid == 0:
        code = 70
        try:
            os.setsid()
            quiet(copy / "log")
            inside(copy)
            sys.dont_write_bytecode = True
            os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
            chosen = _Chosen(names)
            files = list(dict.fromkeys(name.split("::")[0] for name in names))
            code = int(pytest.main([*ARGUMENTS, *files], plugins=[chosen]))
            report.write_text(chosen.first)
        except BaseException:
            traceback.print_exc()
            sys.stderr.flush()
        finally:
            os._exit(code)
    end = time.monotonic() + 300
    while time.monotonic() < end:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            code = os.waitstatus_to_exitcode(status)
            with contextlib.suppress(ProcessLookupError):
                os.killpg(pid, signal.SIGKILL)
            if not report.exists() and code == 70:
                raise RuntimeError((copy / "log").read_text()[-3000:])
            by = report.read_text() if report.exists() else f"exit {code}"
            return ("survived" if code == 0 else "caught"), by
        time.sleep(0.02)
    os.killpg(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return "not in time", "300 s"
