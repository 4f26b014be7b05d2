"""Checks the network origin: the listening address, and the Host, Origin and Sec-Fetch-Site of every request.

An open page of another site can make the browser send requests to 127.0.0.1, also under a name that resolves to it.
Such requests are recognised by these three headers.
"""

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from countenance.errors import InputError

LOCAL = ("127.0.0.1", "localhost", "::1")
SAFE = ("GET", "HEAD")


@dataclass(frozen=True)
class Address:
    """The address on which the viewer listens.

    >>> Address("127.0.0.1", 8000).url
    'http://127.0.0.1:8000'
    """

    host: str = "127.0.0.1"
    port: int = 8722

    @property
    def url(self) -> str:
        return f"http://{_bracketed(self.host)}:{self.port}"

    @property
    def local(self) -> bool:
        """Whether only this machine can reach it."""
        return self.host in LOCAL or _is(self.host, "is_loopback")

    def check(self, *, allow_remote: bool, token_named: bool) -> None:
        """Refuse an address that other machines can reach, unless both options that allow it were given.

        >>> Address("0.0.0.0", 80).check(allow_remote=False, token_named=True)
        Traceback (most recent call last):
        countenance.errors.InputError: --host 0.0.0.0 can be reached from other machines; ...
        """
        if not self.local and not (allow_remote and token_named):
            raise InputError(
                f"--host {self.host} can be reached from other machines; say so with --allow-remote and name a "
                "--token, or leave --host out"
            )

    def refusal(self, method: str, headers: Mapping[str, str]) -> str:
        """The reason why a request is refused; empty if it is not.

        >>> Address().refusal("GET", {"host": "evil.example:8722"})
        'the Host of the request is evil.example:8722, expected 127.0.0.1:8722'
        """
        host = headers.get("host", "")
        if not self._own(host):
            return f"the Host of the request is {host or 'missing'}, expected {_bracketed(self.host)}:{self.port}"
        site = headers.get("sec-fetch-site")
        if site not in (None, "same-origin", "none"):
            return f"the request comes from another site (Sec-Fetch-Site: {site}); open the address directly"
        origin = headers.get("origin")
        if origin is not None and not (origin.startswith("http://") and self._own(urlsplit(origin).netloc)):
            return f"the request comes from another page (Origin: {origin})"
        if method not in SAFE and origin is None and site is None:
            return "a request that changes something must say its Origin"
        return ""

    def _own(self, host: str) -> bool:
        """Whether a Host is this viewer's: a name of this machine, or any literal address where others may connect."""
        try:
            parts = urlsplit(f"//{host}")
            name, port = parts.hostname or "", parts.port or 80
        except ValueError:
            return False
        if port != self.port or parts.username is not None or parts.path or parts.query or parts.fragment:
            return False
        if name in LOCAL or name == self.host.lower():
            return True
        # A literal address cannot be a site's name that was made to resolve to this machine.
        return not self.local and _is(name, "is_private", "is_global")


def _is(name: str, *kinds: str) -> bool:
    try:
        address = ipaddress.ip_address(name)
    except ValueError:
        return False
    return any(bool(getattr(address, kind)) for kind in kinds)


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host
