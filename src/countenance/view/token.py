"""Authentication: every request carries the token of this start, in its address or in the cookie set by it."""

import hashlib
import hmac
import secrets
from dataclasses import dataclass

from countenance.errors import InputError

PARAMETER = "token"
SHORTEST = 16
"""Characters that a token needs where other machines can guess at it."""


@dataclass(frozen=True)
class Token:
    """The secret of one start of the viewer, and the cookie that stands for it.

    Cookies do not depend on ports, so the cookie's name contains the port: two viewers on one machine stay separate.
    """

    value: str
    port: int

    @property
    def cookie(self) -> str:
        """The name of the cookie."""
        return f"countenance-{self.port}"

    @property
    def mark(self) -> str:
        """The value of the cookie: a hash, so that a token may have any characters."""
        return hashlib.sha256(b"countenance view\0" + self.value.encode("utf-8", "replace")).hexdigest()

    def accepts(self, text: str | None, cookie: str | None = None) -> bool:
        """Whether the token of an address, or else the cookie, is right.

        The comparison takes constant time.

        >>> token = Token("secret", 8000)
        >>> token.accepts("secret"), token.accepts(None, token.mark), token.accepts("wrong", token.mark)
        (True, True, False)
        """
        if text is not None:
            return hmac.compare_digest(text.encode("utf-8", "replace"), self.value.encode("utf-8", "replace"))
        return cookie is not None and hmac.compare_digest(cookie.encode("utf-8", "replace"), self.mark.encode())

    def header(self) -> str:
        """The Set-Cookie header: not readable by scripts, not sent from other sites."""
        return f"{self.cookie}={self.mark}; Path=/; HttpOnly; SameSite=Strict"


def make_token(text: str | None = None, *, local: bool = True) -> str:
    """The token that was named, or a random one.

    >>> make_token("short", local=False)
    Traceback (most recent call last):
    countenance.errors.InputError: --token: 5 characters; where other machines can connect it needs at least 16
    """
    if text is None:
        return secrets.token_urlsafe(24)
    if not text.strip() or not text.isprintable():
        raise InputError("--token: empty or not printable; leave it out for a random one")
    if not local and len(text) < SHORTEST:
        raise InputError(
            f"--token: {len(text)} characters; where other machines can connect it needs at least {SHORTEST}"
        )
    return text
