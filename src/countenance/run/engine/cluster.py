"""The connection to a Ray cluster, existing or started on this machine."""

import os
import secrets
import socket
import sys
from typing import Any

from countenance.errors import InputError, MissingExtra

REACHED = 5.0
"""Seconds in which the head must answer."""


def connect(address: str | None, cpus: int) -> tuple[Any, bool]:
    """Ray, connected, and whether the connection was made here (and is to be closed here)."""
    _with_token(address)  # before Ray is imported: it reads the variables only then
    try:
        import ray
    except ImportError:
        raise MissingExtra("the engine ray", "ray") from None
    if ray.is_initialized():
        return ray, False
    if address:
        _reach(address)
    plain = {"log_to_driver": True, "logging_level": "error"}
    try:
        if address:
            ray.init(address=address, **plain)
        else:
            # "local": a file that a killed cluster left behind must not be taken for a running one
            ray.init(address="local", num_cpus=max(cpus, os.cpu_count() or 1), include_dashboard=False, **plain)
    except Exception as error:  # Ray raises many kinds; all of them mean that there is no cluster
        first = " ".join(str(error).split())[:300]
        raise InputError(
            f"no Ray cluster at {address or 'this machine'} ({first}); start one with `ray start --head`, and set "
            "RAY_AUTH_MODE=token and the cluster's RAY_AUTH_TOKEN"
        ) from None
    return ray, True


def _reach(address: str) -> None:
    """Refuse an address where nothing listens: Ray itself would try for many minutes."""
    host, colon, port = address.rpartition(":")
    if address == "auto":
        return
    if not colon or not port.isdigit() or "/" in host:
        raise InputError(f"address={address!r}: expected host:port of the head, such as 10.0.0.1:6379, or auto")
    try:
        socket.create_connection((host, int(port)), timeout=REACHED).close()
    except (OSError, OverflowError) as error:
        raise InputError(
            f"address={address!r}: nothing answers there ({error}); start the head: `ray start --head --port={port}`"
        ) from None


def _with_token(address: str | None) -> None:
    """Set the token that Ray wants, our own for a local cluster: Ray's default would be readable in the home folder."""
    known = os.environ.get("RAY_AUTH_TOKEN") or os.environ.get("RAY_AUTH_TOKEN_PATH")
    if not known and address is None and "ray" not in sys.modules:
        os.environ["RAY_AUTH_TOKEN"] = known = secrets.token_hex(32)
    if known:
        os.environ.setdefault("RAY_AUTH_MODE", "token")
