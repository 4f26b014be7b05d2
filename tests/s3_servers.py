"""An S3 server on loopback (moto's, in its own process), and a proxy before it that misbehaves when told to."""

import contextlib
import http.client
import os
import socket
import subprocess
import sys
import threading
import time
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

BUCKET = "tests"
CREDENTIALS = {
    "AWS_ACCESS_KEY_ID": "testing",
    "AWS_SECRET_ACCESS_KEY": "testing",
    "AWS_REGION": "us-east-1",
}
SLOW_DOWN = b"<?xml version='1.0'?><Error><Code>SlowDown</Code><Message>Reduce your rate</Message></Error>"
DENIED = (
    b"<?xml version='1.0'?><Error><Code>InvalidAccessKeyId</Code>"
    b"<Message>The access key does not exist in our records.</Message></Error>"
)


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@contextlib.contextmanager
def moto_server() -> Iterator[str]:
    """The address of a server with an empty bucket."""
    port = free_port()
    command = [sys.executable, "-W", "ignore", "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    server = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env={**os.environ, **CREDENTIALS}
    )
    address = f"http://127.0.0.1:{port}"
    try:
        for _ in range(600):
            with contextlib.suppress(OSError), urllib.request.urlopen(f"{address}/moto-api/", timeout=5):
                break
            if server.poll() is not None:
                raise RuntimeError(f"moto's server ended with code {server.returncode}")
            time.sleep(0.1)
        make_bucket(address, BUCKET)
        yield address
    finally:
        server.kill()
        server.wait()


def make_bucket(address: str, name: str) -> None:
    urllib.request.urlopen(urllib.request.Request(f"{address}/{name}", method="PUT"), timeout=60).close()


def upload(folder: Path, prefix: str) -> None:
    """Put every file below a folder into the bucket of the server that the variables name; links are followed."""
    address = os.environ["AWS_ENDPOINT_URL"]
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            name = urllib.parse.quote(f"/{BUCKET}/{prefix}/{path.relative_to(folder)}")
            kind = {"Content-Type": "application/octet-stream"}
            request = urllib.request.Request(f"{address}{name}", path.read_bytes(), kind, method="PUT")
            urllib.request.urlopen(request, timeout=60).close()


@dataclass
class Fault:
    """What the proxy does to the requests that `wanted` chooses."""

    wanted: Callable[[str, str], bool] = lambda method, path: True
    times: int = 1_000_000
    status: int | None = None
    """Answer this instead of asking the server."""
    body: bytes = SLOW_DOWN
    wait: float = 0.0
    cut: float | None = None
    """Hand on this share of an upload as if it were whole."""
    drop: bool = False
    """Close the connection without an answer."""
    lose_reply: bool = False
    """Hand the request on, but close the connection without an answer."""
    cut_reply: float | None = None
    """Answer with this share of the content, then close the connection."""
    hits: int = 0


@dataclass
class Proxy:
    """Hands requests on to a server; `faults` says which go wrong."""

    target: str
    faults: list[Fault] = field(default_factory=list)
    requests: list[tuple[str, str]] = field(default_factory=list)
    port: int = 0

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def fault(self, method: str, path: str) -> Fault | None:
        for one in self.faults:
            if one.times > 0 and one.wanted(method, path):
                one.times -= 1
                one.hits += 1
                return one
        return None

    @contextlib.contextmanager
    def serving(self) -> Iterator["Proxy"]:
        server = ThreadingHTTPServer(("127.0.0.1", self.port), _handler(self))
        server.daemon_threads = True
        self.port = server.server_address[1]
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield self
        finally:
            server.shutdown()
            server.server_close()


def _handler(proxy: Proxy) -> type[BaseHTTPRequestHandler]:
    host = proxy.target.removeprefix("http://")

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: object) -> None:
            pass

        def handle_any(self) -> None:
            size = int(self.headers.get("Content-Length") or 0)
            content = self.rfile.read(size) if size else b""
            proxy.requests.append((self.command, self.path))
            fault = proxy.fault(self.command, self.path)
            headers = {k: v for k, v in self.headers.items() if k.lower() not in ("host", "content-length")}
            if fault is not None:
                time.sleep(fault.wait)
                if fault.drop:
                    self.close_connection = True
                    return
                if fault.status is not None:
                    self.answer(fault.status, {"Content-Type": "application/xml"}, fault.body)
                    return
                if fault.cut is not None:
                    content = content[: int(len(content) * fault.cut)]
                    headers = {k: v for k, v in headers.items() if not k.lower().startswith("x-amz-content-sha")}
            connection = http.client.HTTPConnection(host, timeout=60)
            connection.request(self.command, self.path, content, {**headers, "Host": host})
            reply = connection.getresponse()
            body = reply.read()
            if fault is not None and fault.lose_reply:
                self.close_connection = True
                return
            share = 1.0 if fault is None or fault.cut_reply is None else fault.cut_reply
            self.answer(reply.status, dict(reply.getheaders()), body, share)
            connection.close()

        def answer(self, status: int, headers: dict[str, str], body: bytes, share: float = 1.0) -> None:
            self.send_response(status)
            length = headers.get("Content-Length") if self.command == "HEAD" else None
            for name, value in headers.items():
                if name.lower() not in ("content-length", "transfer-encoding", "connection", "date", "server"):
                    self.send_header(name, value)
            self.send_header("Content-Length", length or str(len(body)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body[: int(len(body) * share)])
                self.close_connection = self.close_connection or share < 1.0

        do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = handle_any

    return Handler
