"""Checks every request: its origin and its token. Every answer gets the policy."""

import sys
import traceback
from collections.abc import Awaitable, Callable, MutableMapping
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qsl, urlencode

from countenance.view.network import Address
from countenance.view.parameters import LONGEST_QUERY
from countenance.view.policy import HEADERS
from countenance.view.token import PARAMETER, Token

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

LARGEST = 64 * 1024
"""Bytes that a request may carry: a saved view is a name and an address."""


class Closed:
    """An application that answers only requests from its own pages, or with its token in the address."""

    def __init__(self, app: App, address: Address, token: Token) -> None:
        self.app, self.address, self.token = app, address, token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return  # no websockets
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
        if refusal := self.address.refusal(scope["method"], headers):
            return await _say(send, 403, f"Refused: {refusal}.")
        length = headers.get("content-length", "0") or "0"
        too_long = not (length.isascii() and length.isdigit() and len(length) < 10) or int(length) > LARGEST
        if too_long or "chunked" in headers.get("transfer-encoding", ""):
            return await _say(send, 413, f"Refused: a request carries at most {LARGEST:,} bytes.")
        if len(scope["query_string"]) > LONGEST_QUERY:
            return await _say(send, 414, f"Refused: the address has more than {LONGEST_QUERY:,} characters.")
        pairs = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        token = next((value for name, value in pairs if name == PARAMETER), None)
        named = token is not None
        if not self.token.accepts(token, _cookie(headers, self.token.cookie)):
            return await _say(
                send,
                401,
                "The token is missing or wrong. Open the address that `countenance view` printed at its start.",
            )
        # Later handlers never see the token, so no page or link can contain it.
        rest = [(name, value) for name, value in pairs if name != PARAMETER]
        inner = dict(scope) | {"query_string": urlencode(rest).encode("ascii")}
        started = False

        async def sending(message: MutableMapping[str, Any]) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                message["headers"] = _with_policy(message.get("headers", []))
                if named:
                    message["headers"].append((b"set-cookie", self.token.header().encode()))
            await send(message)

        try:
            await self.app(inner, receive, sending)
        except Exception:
            traceback.print_exc(file=sys.stderr)
            if not started:
                await _say(send, 500, "This is a bug in countenance; the terminal says more.")


def _with_policy(headers: Any) -> list[tuple[bytes, bytes]]:
    """An answer's headers with those of the policy; headers that it sets itself, such as caching, stay."""
    there = {name.lower() for name, _ in headers}
    added = [(name.lower().encode(), value.encode()) for name, value in HEADERS.items()]
    return [*headers, *((name, value) for name, value in added if name not in there)]


def _cookie(headers: MutableMapping[str, str], name: str) -> str | None:
    try:
        cookie = SimpleCookie(headers.get("cookie", "")).get(name)
    except CookieError:
        return None
    return cookie.value if cookie else None


async def _say(send: Send, status: int, sentence: str) -> None:
    """Send a sentence as plain text, in which nothing is executed."""
    content = (sentence + "\n").encode("utf-8", "replace")
    headers = _with_policy([(b"content-type", b"text/plain; charset=utf-8")])
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": content})
