"""A Ray cluster of several `ray start` nodes on loopback, each with its own address; nodes can be killed and added."""

import contextlib
import os
import secrets
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from s3_servers import free_port

MARK = "COUNTENANCE_TEST_NODE"


@dataclass
class Cluster:
    """Nodes of so many CPUs each; the first is the head."""

    cpus: int = 1
    port: int = field(default_factory=free_port)
    token: str = field(default_factory=lambda: secrets.token_hex(32))
    nodes: dict[int, str] = field(default_factory=dict)

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def variables(self) -> dict[str, str]:
        return {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": self.token, "RAY_USAGE_STATS_ENABLED": "0"}

    def start(self, number: int) -> None:
        """Start a node; it is there when `wait` returns."""
        mark = self.nodes[number] = secrets.token_hex(8)
        words = [
            sys.executable,
            "-W",
            "ignore",
            "-c",
            "import sys; from ray.scripts.scripts import main; sys.exit(main())",
            "start",
            "--block",
            f"--num-cpus={self.cpus}",
            f"--node-ip-address=127.0.0.{number}",
            "--disable-usage-stats",
        ]
        words += ["--object-store-memory=100000000"]
        if number == 1:
            words += ["--head", f"--port={self.port}", "--include-dashboard=false"]
        else:
            words += [f"--address={self.address}"]
        path = os.pathsep.join([str(Path(__file__).parent / "run"), *filter(None, sys.path)])
        environment = {**os.environ, **self.variables, MARK: mark, "PYTHONPATH": path}
        subprocess.Popen(
            words,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        if number == 1:
            self._wait_for_head()

    def _wait_for_head(self) -> None:
        end = time.monotonic() + 120
        while time.monotonic() < end:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), timeout=1):
                return
            time.sleep(0.3)
        raise RuntimeError("the head of the Ray cluster did not start")

    def kill(self, number: int) -> None:
        """End every process of a node with signal 9."""
        mark = f"{MARK}={self.nodes.pop(number)}".encode()
        for folder in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if mark in (folder / "environ").read_bytes().split(b"\0"):
                    os.kill(int(folder.name), signal.SIGKILL)

    @contextlib.contextmanager
    def running(self, nodes: int) -> Iterator["Cluster"]:
        try:
            for number in range(1, nodes + 1):
                self.start(number)
            yield self
        finally:
            for number in list(self.nodes):
                self.kill(number)
