"""Mutations tried in copies of a process that has collected the tests already: no test file is imported twice.

The code of the mutated function is exchanged where it lies, so this is for lines that run neither at import nor while
tests are collected.
"""

import contextlib
import gc
import os
import shutil
import signal
import sys
import time
import traceback
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mutate_tests
import pytest


def functions(inside: str) -> dict[str, list[types.FunctionType]]:
    """The functions of this process by their file, for files below a folder."""
    found: dict[str, list[types.FunctionType]] = {}
    for one in gc.get_objects():
        if type(one) is types.FunctionType and one.__code__.co_filename.startswith(inside):
            found.setdefault(one.__code__.co_filename, []).append(one)
    return found


def exchange(of_file: list[types.FunctionType], path: str, old: str, new: str) -> int:
    """Give functions of a file the code of its new source; returns how many functions changed.

    >>> names = {}
    >>> exec(compile("def two(): return 1 + 1", "two.py", "exec"), names)
    >>> exchange([names["two"]], "two.py", "def two(): return 1 + 1", "def two(): return 1 - 1"), names["two"]()
    (1, 0)
    """
    changed: dict[types.CodeType, types.CodeType] = {}
    placed: dict[tuple[str, int], list[types.CodeType]] = {}

    def pair(one: types.CodeType, two: types.CodeType) -> None:
        changed[one] = two
        if one != two:
            placed.setdefault((one.co_qualname, one.co_firstlineno), []).append(two)
        inner, other = ([x for x in code.co_consts if isinstance(x, types.CodeType)] for code in (one, two))
        for pair_of_codes in zip(inner, other, strict=True):
            pair(*pair_of_codes)

    pair(compile(old, path, "exec"), compile(new, path, "exec"))
    count = 0
    for one in of_file:
        made = changed.get(one.__code__)
        if made is None:  # pytest rewrites assertions of files that it is given
            there = placed.get((one.__code__.co_qualname, one.__code__.co_firstlineno), [])
            made = there[0] if len(there) == 1 else None
        if made is not None and made != one.__code__:
            one.__code__ = made
            count += 1
    return count


Trial = tuple[Any, str, str, list[str]]
"""A mutation, its file's text before and after, and the tests to try, by name."""


class Server:
    """After the collection try each mutation in a process of its own, instead of running the tests."""

    def __init__(self, copy: Path, trials: list[Trial], tell: Callable[[Any, str, str], None], end: float) -> None:
        self.copy, self.trials, self.tell, self.end = copy, trials, tell, end

    def pytest_configure(self) -> None:
        mutate_tests.settle_hypothesis()

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = [one for one in items if mutate_tests.is_test(one)]

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        self.functions = functions(str(self.copy))
        gc.collect()
        gc.freeze()  # processes that are copies then share the memory of what is here
        items = {item.nodeid: item for item in session.items}
        for what, before, after, names in self.trials:
            if time.monotonic() > self.end:
                break
            path = self.copy / what.file
            mutate_tests.forget_compiled(path)
            path.write_text(after, encoding="utf-8")
            chosen = [items[name] for name in names if name in items]
            outcome, by = self._try(path, before, after, chosen)
            path.write_text(before, encoding="utf-8")
            mutate_tests.forget_compiled(path)
            self.tell(what, outcome, by or f"{len(chosen)} tests")
        return True

    def _try(self, path: Path, before: str, after: str, items: list[pytest.Item]) -> tuple[str, str]:
        report = self.copy / "outcome"
        report.unlink(missing_ok=True)
        pid = os.fork()
        if pid == 0:
            self._run(path, before, after, items, report)
        code = _waited(pid)
        shutil.rmtree(self.copy / "temporary", ignore_errors=True)
        if code is None:
            return "not in time", "120 s"
        if code not in (0, 1) and not report.exists():
            return "caught", f"exit {code}"
        return ("survived", "") if code == 0 else ("caught", report.read_text())

    def _run(self, path: Path, before: str, after: str, items: list[pytest.Item], report: Path) -> None:
        code = 70
        try:
            os.setsid()
            sys.dont_write_bytecode = True
            os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
            exchange(self.functions.get(str(path), []), str(path), before, after)
            config = items[0].config
            config.pluginmanager.register(_Failure(report))
            for item, after_it in zip(items, [*items[1:], None], strict=True):
                config.hook.pytest_runtest_protocol(item=item, nextitem=after_it)
            code = 0
        except BaseException:
            traceback.print_exc()
            sys.stderr.flush()
        finally:
            os._exit(code)


class _Failure:
    """End the process at the first test that fails."""

    def __init__(self, report: Path) -> None:
        self.report = report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.report.write_text(report.nodeid)
            os._exit(1)


def _waited(pid: int, seconds: float = 120.0) -> int | None:
    """The exit status of a process, or None where it did not end in time; what it started ends with it."""
    end, code = time.monotonic() + seconds, None
    while time.monotonic() < end:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            code = os.waitstatus_to_exitcode(status)
            break
        time.sleep(0.005)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)
    if code is None:
        os.waitpid(pid, 0)
    return code


def try_all(copy: Path, trials: list[Trial], tell: Callable[[Any, str, str], None], end: float) -> None:
    """Collect the tests once and try the mutations one after the other."""
    files = sorted({name.split("::")[0] for trial in trials for name in trial[3]})
    if not files:
        return
    pid = os.fork()
    if pid == 0:
        code = 70
        try:
            mutate_tests.inside(copy)
            mutate_tests.quiet(copy / "log")
            code = int(
                pytest.main(
                    [*mutate_tests.ARGUMENTS, f"--basetemp={copy / 'temporary'}", *files],
                    plugins=[Server(copy, trials, tell, end)],
                )
            )
        except BaseException:
            traceback.print_exc()
            sys.stderr.flush()
        finally:
            os._exit(code)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if code not in (0, 5):
        raise RuntimeError(f"exit {code}: " + (copy / "log").read_text()[-3000:])
