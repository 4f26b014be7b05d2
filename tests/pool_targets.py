"""Handlers for the tests of the pool; workers import them by name."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from countenance.errors import InputError


def square(job):
    def handle(order, tell):
        tell(n=order["n"])
        return order["n"] ** 2

    return handle


def reads_input(job):
    def handle(order, tell):
        print("a handler that talks")
        try:
            return input()
        except EOFError:
            return "end of file"

    return handle


def changes_folder(job):
    def handle(order, tell):
        os.chdir(order["to"])
        return str(Path.cwd())

    return handle


def dies_once(job):
    def handle(order, tell):
        mark = Path(order["mark"])
        if not mark.exists():
            mark.touch()
            os._exit(3)
        return "survived"

    return handle


def dies(job):
    return lambda order, tell: os._exit(7)


def cannot_start(job):
    raise InputError("no luck today")


def refuses(job):
    def handle(order, tell):
        raise InputError("that is wrong")

    return handle


def breaks(job):
    return lambda order, tell: 1 / 0


def misses_a_file(job):
    return lambda order, tell: Path("nowhere").read_text()


def forks(job):
    return lambda order, tell: subprocess.Popen([sys.executable, "-c", "import time; time.sleep(300)"]).pid


def forks_away(job):
    """A child in a session of its own, whose parent has ended: it must end with the worker all the same."""

    def handle(order, tell):
        script = (
            "import subprocess, sys; "
            "print(subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(300)'], "
            "start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).pid)"
        )
        return int(subprocess.run([sys.executable, "-c", script], capture_output=True, check=True).stdout)

    return handle


def hangs(job):
    def handle(order, tell):
        tell(limit=0.5)
        time.sleep(300)

    return handle


def killed(job):
    return lambda order, tell: os.kill(os.getpid(), signal.SIGKILL)


def closes_everything(job):
    def handle(order, tell):
        os.closerange(3, 256)
        time.sleep(300)

    return handle
