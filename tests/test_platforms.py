"""Windows, as far as Linux can show it: without fcntl, resource, fork and process groups everything imports, tables are
audited, reports written and runs viewed; what needs worker processes says so in one line."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from countenance.errors import InputError
from countenance.run import audit_run, evaluate, store_audit
from countenance.run.engine.processes import each
from countenance.testing import DiscDetector, write_small_dataset

WITHOUT = """
import asyncio, concurrent.futures, getpass, os, pathlib, pkgutil, shutil, subprocess, sys, tempfile, types
import duckdb, fastapi, jinja2, matplotlib.pyplot, numpy, onnxruntime, PIL.Image, pyarrow.parquet, pydantic
import rich.progress, scipy.stats, threadpoolctl, typer, uvicorn.protocols.http.h11_impl, yaml

for name in ("fcntl", "resource", "pwd", "grp", "termios"):
    sys.modules[name] = None
for name in ("fork", "forkpty", "killpg", "getuid", "O_NOFOLLOW", "O_CLOEXEC", "setsid", "memfd_create"):
    if hasattr(os, name):
        delattr(os, name)
held = {}


def locking(handle, mode, count):
    place = os.fstat(handle).st_ino
    if held.get(place, handle) != handle:
        raise OSError(13, "Permission denied")
    held[place] = handle


sys.modules["msvcrt"] = types.SimpleNamespace(locking=locking, LK_NBLCK=1)
"""
IMPORTS = (
    WITHOUT
    + """
import importlib, traceback
import countenance

names = [module.name for module in pkgutil.walk_packages(countenance.__path__, "countenance.")]
for name in names:
    try:
        importlib.import_module(name)
    except ImportError as error:
        if "countenance" in traceback.extract_tb(error.__traceback__)[-1].filename:
            raise  # ours; a library that a module needs (ray, mitsuba) may lack something itself
print(len(names))
"""
)
COMMANDS = (
    WITHOUT
    + """
import countenance.scratch  # temporary folders of a user whose number is not known
from countenance.cli.app import run

sys.exit(max(run(words) for words in eval(sys.argv[1])))
"""
)


def python(code: str, *words: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-c", code, *words], capture_output=True, text=True, check=False, timeout=600
    )


def test_every_module_imports_without_what_windows_lacks() -> None:
    done = python(IMPORTS)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 500


def test_audits_reports_and_the_viewer_work_there(tmp_path: Path) -> None:
    data = write_small_dataset(tmp_path / "set", n=30, size=16)
    run = evaluate(DiscDetector(), "face_localization", data, out=tmp_path / "run")
    store_audit(run, audit_run(run, by=["gender"], adjust="holm"))
    table = tmp_path / "run" / "scores.parquet"
    words = [
        ["audit", str(table), "--by", "gender", "--metric", "recall@0.5", "--adjust", "holm"],
        ["report", str(run.path), "--out", str(tmp_path / "page.html")],
        ["verify", str(run.path)],
        ["view", str(run.path), "--bundle", str(tmp_path / "bundle"), "--no-browser"],
        ["doctor"],
    ]
    done = python(COMMANDS, repr(words))
    assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "page.html").stat().st_size > 10_000 and (tmp_path / "bundle" / "index.html").exists()


def test_what_needs_worker_processes_says_so_in_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "killpg")
    data = write_small_dataset(tmp_path / "set", n=8, size=16)
    with pytest.raises(InputError, match="worker processes need Linux or macOS; on Windows audits of tables") as caught:
        evaluate("countenance.testing:DiscDetector", "face_localization", data, out=tmp_path / "run")
    assert "\n" not in str(caught.value)
    with pytest.raises(InputError, match="worker processes need Linux or macOS"):
        each("countenance.worker_process:echo", {"times": 1}, [{"say": "a"}])
