"""A viewer that really listens, on runs that were really made."""

import http.client
import json
import re
import shutil
import socket
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from countenance.run import Run
from countenance.view.app import make_app
from countenance.view.library import Library
from countenance.view.privacy import Privacy
from countenance.view.server import address_of, bind, make_server
from countenance.view.token import Token

_spec = spec_from_file_location("drawn_runs", Path(__file__).parents[1] / "report" / "conftest.py")
assert _spec is not None and _spec.loader is not None
drawn = module_from_spec(_spec)
_spec.loader.exec_module(drawn)

SECRET = "a-token-of-tests"


@dataclass
class Answer:
    """What the viewer answered."""

    status: int
    headers: dict[str, str]
    content: bytes

    @property
    def text(self) -> str:
        return self.content.decode()

    def json(self) -> Any:
        return json.loads(self.content)


@dataclass
class Viewer:
    """A viewer on a port of its own."""

    port: int
    library: Library
    server: Any
    thread: threading.Thread
    listening: socket.socket

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def ask(self, path: str, **how: Any) -> Answer:
        """Send a request; where pictures are still being read, ask again when they are, as the page does."""
        answer = self.send(path, **how)
        while answer.status == 200 and (waiting := re.search(rb' data-waiting="([^"]+)"', answer.content)):
            for address in waiting[1].decode().split():
                while self.send(address).json()["state"] == "loading":
                    time.sleep(0.05)
            answer = self.send(path, **how)
        return answer

    def send(
        self, path: str, *, token: str | None = SECRET, method: str = "GET", body: str | None = None, **headers: str
    ) -> Answer:
        """Send a request exactly as written: http.client cleans no path up."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        address = path if token is None else f"{path}{'&' if '?' in path else '?'}token={token}"
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        connection.request(method, address, body, sent)
        answer = connection.getresponse()
        found = Answer(answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read())
        connection.close()
        return found

    def close(self) -> None:
        """Stop listening, and wait until it has stopped."""
        self.server.should_exit = True
        self.thread.join(10)
        self.listening.close()

    def id_of(self, name: str) -> str:
        return next(one.id for one in self.library.summaries() if one.name == name)


def start(places: list[Path], privacy: Privacy | None = None, **how: Any) -> Viewer:
    """Listen in a thread."""
    library = Library(places, **how)
    listening = bind("127.0.0.1", 0)
    address = address_of("127.0.0.1", listening)
    app = make_app(library, address, Token(SECRET, address.port), privacy)
    server = make_server(app)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    return Viewer(address.port, library, server, thread, listening)


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a run of drawn people, another one of the same, and one whose every name is an attack."""
    root = tmp_path_factory.mktemp("viewer") / "runs"
    drawn.make_run(root / "first", people=120, each=2)
    shutil.copytree(root / "first" / "run", root / "second")
    drawn.make_hostile_run(root / "hostile")
    return root


@pytest.fixture(scope="session")
def viewer(runs: Path) -> Iterator[Viewer]:
    made = start([runs])
    yield made
    made.close()


@pytest.fixture(scope="session")
def first(viewer: Viewer) -> str:
    """The id of the first run."""
    return viewer.id_of("first/run")


@pytest.fixture(scope="session")
def first_run(runs: Path) -> Run:
    return Run(runs / "first" / "run")


def query(**parts: str) -> str:
    """A query, everything quoted."""
    return "&".join(f"{name}={quote(value, safe='')}" for name, value in parts.items())
