"""Listening: the socket is bound before any output, so that a port in use is reported in a sentence."""

import contextlib
import socket
import threading
from collections.abc import Callable
from typing import Any

from countenance.errors import InputError
from countenance.view.network import Address

TRIED = 20
"""Ports that are tried after the usual one, when none was named."""


def bind(host: str, port: int | None, usual: int = 8722) -> socket.socket:
    """A socket on a port; without a port, on the first free one from the usual port on."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    ports = [port] if port is not None else list(range(usual, usual + TRIED))
    for number in ports:
        # If the protocol is named, asyncio disables Nagle's algorithm, which delays each answer by 40 ms.
        listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((host, number))
            listener.listen(128)
            return listener
        except PermissionError:
            listener.close()
            raise InputError(
                f"--port {number}: needs rights that this user does not have; name one above 1023"
            ) from None
        except OSError as error:
            listener.close()
            if port is not None or number == ports[-1]:
                raise InputError(_refusal(host, number, error)) from None
    raise AssertionError


def _refusal(host: str, port: int, error: OSError) -> str:
    import errno

    if error.errno == errno.EADDRINUSE:
        return f"--port {port}: in use, perhaps by another viewer; name another one, or leave --port out"
    return f"--host {host} --port {port}: cannot be listened on ({error.strerror})"


def make_server(app: Any) -> Any:
    """The server of an application, with limits on the time and size of requests."""
    import uvicorn

    from countenance.view.protocol import CONNECTIONS, TimedProtocol

    config = uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,
        server_header=False,
        date_header=False,
        lifespan="off",
        timeout_graceful_shutdown=2,
        h11_max_incomplete_event_size=64 * 1024,
        http=TimedProtocol,
        limit_concurrency=CONNECTIONS,
    )
    return uvicorn.Server(config)


def serve(app: Any, listening: socket.socket, ready: Callable[[], None]) -> None:
    """Answer requests until Ctrl-C; `ready` is called when requests can come."""
    server = make_server(app)
    threading.Thread(target=ready, daemon=True).start()
    with contextlib.suppress(KeyboardInterrupt):  # Ctrl-C ends the viewer
        server.run(sockets=[listening])


def address_of(host: str, listening: socket.socket) -> Address:
    """The address of a socket."""
    return Address(host, int(listening.getsockname()[1]))
