"""HTTP with time limits: a request that does not arrive whole in time is cut off."""

import asyncio
import socket
from contextlib import suppress

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

REQUEST = 10.0
"""Seconds within which a request must be there, from the connection or its first byte on."""
AWAY = 30
"""Seconds of silence after which the system asks whether the other side is still there."""
CONNECTIONS = 256
"""Connections at once; a browser opens six."""


class TimedProtocol(H11Protocol):
    """A connection with a time limit for each of its requests."""

    _clock: asyncio.TimerHandle | None = None
    _refused = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        connection = transport.get_extra_info("socket")
        with suppress(OSError, AttributeError):
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            if hasattr(socket, "TCP_KEEPIDLE"):
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, AWAY)
        self._start_clock()

    def data_received(self, data: bytes) -> None:
        self._start_clock()
        if not self._refused:
            super().data_received(data)
        if not self._refused and self.conn.their_state not in (h11.IDLE, h11.SEND_BODY):  # the request is whole
            self._stop_clock()

    def send_400_response(self, msg: str) -> None:
        """Answer, and let the client close: closing first would reset a connection before the answer is read."""
        head = "HTTP/1.1 400 Bad Request\r\ncontent-type: text/plain; charset=utf-8\r\nconnection: close\r\n\r\n"
        self.transport.write(f"{head}{msg}".encode())
        self.transport.write_eof()
        self._refused = True

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_clock()
        super().connection_lost(exc)

    def _start_clock(self) -> None:
        if self._clock is None:
            self._clock = self.loop.call_later(REQUEST, self._too_late)

    def _stop_clock(self) -> None:
        if self._clock is not None:
            self._clock.cancel()
            self._clock = None

    def _too_late(self) -> None:
        if not self.transport.is_closing():
            self.transport.abort()
