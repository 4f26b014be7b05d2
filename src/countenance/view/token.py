"""Who may ask: every request carries the token of this start, in its address or in the cookie set by it."""

import hmac
import re
import secrets
from dataclasses import dataclass

from countenance.errors import InputError

PARAMETER = "token"
SHORTEST = 8


@dataclass(frozen=True)
class Token:
    """The secret of one start of the viewer, and the cookie that carries it.

    Cookies do not tell ports apart, so the name of the cookie does: two viewers on one machine stay separate.
    """

    value: str
    port: int

    @property
    def cookie(self) -> str:
        """The name of the cookie."""
        return f"countenance-{self.port}"

    def accepts(self, given: str | None) -> bool:
        """Whether a token is the right one; the comparison takes the same time wherever they differ.

        >>> Token("secret-secret", 8000).accepts("secret-secret"), Token("secret-secret", 8000).accepts(None)
        (True, False)
        """
        return given is not None and hmac.compare_digest(given.encode("utf-8", "replace"), self.value.encode())

    def header(self) -> str:
        """The cookie as a response sets it: not for scripts, not for requests from other sites."""
        return f"{self.cookie}={self.value}; Path=/; HttpOnly; SameSite=Strict"


def make_token(given: str | None = None) -> str:
    """The token that was named, or a random one.

    >>> make_token("ab")
    Traceback (most recent call last):
    countenance.errors.InputError: --token: 2 characters; a token needs at least 8 letters, digits, - or _
    """
    if given is None:
        return secrets.token_urlsafe(24)
    if len(given) < SHORTEST or not re.fullmatch(r"[A-Za-z0-9_\-]+", given):
        raise InputError(f"--token: {len(given)} characters; a token needs at least {SHORTEST} letters, digits, - or _")
    return given
