"""A run or a manifest in an object store (S3 or compatible), through `obstore`.

An object is written whole or not at all, and `create` is a conditional put: of several writers exactly one succeeds.
Credentials and the address come from the usual `AWS_*` variables.
"""

import io
import ipaddress
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import timedelta
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO, TypeVar
from urllib.parse import urlsplit

from countenance.errors import InputError, MissingExtra
from countenance.scratch import named_file, temporary_file
from countenance.storage.base import Missing, Storage, StoredFile, checked_name
from countenance.storage.lease import LOCK, Lease
from countenance.text import has_credentials, redacted, refuse_credentials

Result = TypeVar("Result")
SCHEME = "s3://"
PATIENCE = 180.0
"""Seconds that a request is repeated while the store is unreachable, slow or throttles."""
FIRST_PATIENCE = 8.0
"""The same for the first request of a command: a wrong address is reported soon."""


class S3Storage:
    """Objects below a prefix of a bucket.

    >>> S3Storage("s3://bucket/runs/mine").place
    's3://bucket/runs/mine'
    >>> S3Storage("s3://bucket")
    Traceback (most recent call last):
    countenance.errors.InputError: s3://bucket: no prefix; name a place in the bucket, such as s3://bucket/runs/mine
    """

    guarded = True
    """True: object stores keep checksums of their own."""

    def __init__(self, url: str, *, patient: bool = False) -> None:
        refuse_credentials(url)
        self.bucket, _, prefix = url.removeprefix(SCHEME).partition("/")
        self.prefix = prefix.strip("/")
        parts = self.prefix.split("/")
        if not self.bucket or not self.prefix:
            raise InputError(f"{url}: no prefix; name a place in the bucket, such as {SCHEME}bucket/runs/mine")
        if any(part in ("", ".", "..") for part in parts):
            raise InputError(f"{url}: empty parts, . and .. have no meaning in an object store; write the plain prefix")
        self.patient = patient

    def __repr__(self) -> str:
        return f"S3Storage({self.place!r})"

    @property
    def place(self) -> str:
        return f"{SCHEME}{self.bucket}/{self.prefix}"

    @cached_property
    def client(self) -> Any:
        """The connection, after one request has shown that address, credentials and bucket are right."""
        if not self.patient:
            with self._errors():
                connection = self._connect(FIRST_PATIENCE)
                _until_whole(
                    lambda: next(iter(_obstore().list(connection, prefix=self.prefix, chunk_size=1)), None),
                    FIRST_PATIENCE,
                )
        return self._connect(PATIENCE)

    def _connect(self, patience: float) -> Any:
        longest = min(5.0, patience / 4)
        retry = {
            "max_retries": 1000,  # the time limit below ends them
            "retry_timeout": timedelta(seconds=patience),
            "backoff": {"init_backoff": timedelta(seconds=0.1), "max_backoff": timedelta(seconds=longest), "base": 2},
        }
        options: dict[str, Any] = {
            "timeout": timedelta(seconds=max(30.0, patience / 3)),
            "connect_timeout": timedelta(seconds=5),
        }
        if endpoint := address():
            options["allow_http"] = allowed_http(endpoint)
        with self._errors():
            return _obstore().store.S3Store(self.bucket, client_options=options, retry_config=retry)

    def _key(self, name: str) -> str:
        return f"{self.prefix}/{checked_name(name, self.place)}"

    @contextmanager
    def _errors(self, name: str = "") -> Iterator[None]:
        """Turn the client's errors into one line that names the place, the reason and the remedy."""
        exceptions = _obstore().exceptions
        try:
            yield
        except FileNotFoundError as error:
            if "NoSuchBucket" in str(error):
                raise InputError(explain(self.place, self.bucket, str(error))) from None
            raise Missing(f"{self.place}/{name}") from None
        except (exceptions.AlreadyExistsError, exceptions.PreconditionError):
            raise _Exists(name) from None
        except (exceptions.BaseError, OSError, ValueError) as error:
            if isinstance(error, InputError):
                raise
            raise InputError(explain(self.place, self.bucket, str(error))) from None

    def read(self, name: str) -> bytes:
        with self._errors(name):
            return bytes(_obstore().get(self.client, self._key(name)).bytes())

    def open(self, name: str) -> Any:
        with self._errors(name):
            size = int(_obstore().head(self.client, self._key(name))["size"])
        return _Parts(self, name, size)

    def read_range(self, name: str, start: int, stop: int) -> bytes:
        """A part of the content."""
        with self._errors(name):
            return bytes(_obstore().get_range(self.client, self._key(name), start=start, end=stop))

    def has(self, name: str) -> bool:
        try:
            with self._errors(name):
                _obstore().head(self.client, self._key(name))
        except Missing:
            return False
        return True

    def write(self, name: str, content: bytes) -> None:
        with self._errors(name):
            _obstore().put(self.client, self._key(name), content)

    def write_stream(self, name: str, write: Callable[[BinaryIO], object]) -> None:
        with temporary_file() as stream:
            write(stream)

            def put() -> None:
                stream.seek(0)
                _obstore().put(self.client, self._key(name), stream)

            with self._errors(name):
                _until_whole(put)

    def create(self, name: str, content: bytes) -> bool:
        """Write unless the object exists; a repeated request may find its own first attempt, so compare contents."""
        try:
            with self._errors(name):
                _obstore().put(self.client, self._key(name), content, mode="create", use_multipart=False)
        except _Exists:
            return False
        return True

    def read_version(self, name: str) -> tuple[bytes, str] | None:
        """The content and the version of an object; None when there is none."""
        try:
            with self._errors(name):
                response = _obstore().get(self.client, self._key(name))
                return bytes(response.bytes()), str(response.meta["e_tag"])
        except Missing:
            return None

    def replace_version(self, name: str, content: bytes, version: str | None) -> str | None:
        """Write if the object still has that version (None: if it does not exist); the new version, or None."""
        mode: Any = "create" if version is None else {"e_tag": version}
        try:
            with self._errors(name):
                done = _obstore().put(self.client, self._key(name), content, mode=mode, use_multipart=False)
                return str(done["e_tag"])
        except (_Exists, Missing):
            return None

    def delete(self, name: str) -> None:
        try:
            with self._errors(name):
                _obstore().delete(self.client, self._key(name))
        except Missing:
            return

    def entries(self, prefix: str = "") -> list[StoredFile]:
        folder = prefix.rpartition("/")[0]
        start = f"{self.prefix}/{folder}" if folder else self.prefix
        with self._errors():
            blocks = _until_whole(lambda: list(_obstore().list(self.client, prefix=start, chunk_size=1000)))
        files = []
        for about in (about for block in blocks for about in block):
            name = about["path"].removeprefix(f"{self.prefix}/")
            if name.startswith(prefix) and name != LOCK:
                files.append(StoredFile(name, int(about["size"]), str(about.get("e_tag") or "")))
        return sorted(files, key=lambda entry: entry.name)

    @contextmanager
    def local_file(self, name: str) -> Iterator[str]:
        with named_file(Path(name).suffix) as file:
            with self._errors(name):
                response = _obstore().get(self.client, self._key(name))
                changed = response.meta["last_modified"].timestamp()
                for block in response.stream():
                    file.write(block)
            file.flush()
            os.utime(file.name, (changed, changed))
            yield file.name

    def hold(self) -> AbstractContextManager[None]:
        return Lease(self).held()

    def move_aside(self, name: str) -> Storage:
        """Copy everything, the manifest last, then remove it: objects cannot be renamed together."""
        parent = self.prefix.rpartition("/")[0]
        target = S3Storage(f"{SCHEME}{self.bucket}/{parent + '/' if parent else ''}{name}", patient=True)
        if target.entries():
            raise InputError(f"{self.place}: holds another run, and {target.place} is taken; name another prefix")
        with self.hold():
            names = sorted((entry.name for entry in self.entries()), key=lambda name: (name == "run.json", name))
            for entry in names:
                with self._errors(entry):
                    _obstore().copy(self.client, self._key(entry), target._key(entry))
            for entry in names:
                self.delete(entry)
        return target

    def siblings(self, prefix: str) -> Sequence[Storage]:
        parent = self.prefix.rpartition("/")[0]
        with self._errors():
            prefixes = _obstore().list_with_delimiter(self.client, prefix=parent or None)["common_prefixes"]
        names = [path.strip("/") for path in prefixes if path.strip("/").rpartition("/")[2].startswith(prefix)]
        return [S3Storage(f"{SCHEME}{self.bucket}/{path}") for path in sorted(names) if path != self.prefix]

    def leftovers(self) -> Iterator[str]:
        """Nothing: a broken upload leaves no object. Parts of large uploads expire by the bucket's own rules."""
        return iter(())

    def clear(self, own: Callable[[str], bool]) -> list[str]:
        """Nothing: an object store has no folders."""
        return []


class _Parts(io.RawIOBase):
    """An object as a file: each read is one request for that part."""

    def __init__(self, storage: S3Storage, name: str, size: int) -> None:
        self.storage, self.name, self.size, self.position = storage, name, size, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self.position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self.position, io.SEEK_END: self.size}[whence]
        self.position = max(0, start + offset)
        return self.position

    def read(self, size: int | None = -1) -> bytes:
        stop = self.size if size is None or size < 0 else min(self.position + size, self.size)
        if stop <= self.position:
            return b""
        content = self.storage.read_range(self.name, self.position, stop)
        self.position += len(content)
        return content

    def readinto(self, buffer: Any) -> int:
        content = self.read(len(buffer))
        buffer[: len(content)] = content
        return len(content)


class _Exists(Exception):
    """An object of that name exists already."""


def _obstore() -> Any:
    try:
        import obstore
        import obstore.store
    except ImportError:
        raise MissingExtra("an object store (s3://…)", "s3") from None
    return obstore


def _until_whole(request: Callable[[], Result], patience: float = PATIENCE) -> Result:
    """Repeat a request whose reply was cut off: the client repeats single requests, but not lists or uploads."""
    end, pause = time.monotonic() + patience, 0.1
    while True:
        try:
            return request()
        except _obstore().exceptions.BaseError as error:
            if "response body" not in str(error) or time.monotonic() + pause > end:
                raise
        time.sleep(pause)
        pause = min(2 * pause, 5.0)


def address() -> str | None:
    """The server that the variables name; None for Amazon's default."""
    for name in ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT"):
        if value := os.environ.get(name):
            if has_credentials(value):
                raise InputError(
                    f"{name} is {redacted(value)}: it holds a name or a password; set AWS_ACCESS_KEY_ID and "
                    "AWS_SECRET_ACCESS_KEY, and leave them out of the address"
                )
            return value
    return None


def allowed_http(endpoint: str) -> bool:
    """Whether an address may be used without encryption: loopback only, unless AWS_ALLOW_HTTP is set.

    >>> allowed_http("http://127.0.0.1:5000"), allowed_http("https://s3.example.org")
    (True, False)
    >>> allowed_http("http://s3.example.org")
    Traceback (most recent call last):
    countenance.errors.InputError: AWS_ENDPOINT_URL is http://s3.example.org: pictures of people would travel ...
    """
    try:
        parts = urlsplit(endpoint)
    except ValueError:
        parts = urlsplit("")
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise InputError(f"AWS_ENDPOINT_URL is {endpoint!r}, expected an address such as https://s3.example.org")
    if parts.scheme == "https":
        return False
    if os.environ.get("AWS_ALLOW_HTTP", "").lower() in ("1", "true", "yes") or _loopback(parts.hostname):
        return True
    raise InputError(
        f"AWS_ENDPOINT_URL is {endpoint}: pictures of people would travel unencrypted; "
        "use https (http is for loopback, or set AWS_ALLOW_HTTP=true)"
    )


def _loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def explain(place: str, bucket: str, text: str) -> str:
    """One line on what went wrong, with the remedy."""
    first = " ".join(text.split())
    where = address() or "the store"
    unreachable = f"{place}: {where} cannot be reached; check AWS_ENDPOINT_URL and the network, then repeat the command"
    # Checked before the status: the text of a lost connection contains durations whose digits may look like a status.
    lost = any(word in first for word in ("error sending request", "onnection refused", "dns error"))
    if lost and "169.254.169.254" not in first:
        return unreachable
    for words, reason in (
        (("NoSuchBucket",), f"there is no bucket {bucket!r}; make it, or name another"),
        (
            ("InvalidAccessKeyId", "SignatureDoesNotMatch", "InvalidClientTokenId", "ExpiredToken", "Unauthorized"),
            "the store refuses the credentials; check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN",
        ),
        (
            ("169.254.169.254", "credential", "Credential"),
            "no credentials; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY",
        ),
        (("AccessDenied", "403"), "access denied; the credentials (AWS_ACCESS_KEY_ID) have no right to this place"),
        (("PermanentRedirect", "AuthorizationHeaderMalformed"), "the bucket is in another region; set AWS_REGION"),
        (("503", "SlowDown", "429"), f"the store throttled for {PATIENCE:g} s; run the same command later"),
    ):
        if any(word in first for word in words):
            return f"{place}: {reason}"
    if any(word in first for word in ("timed out", "onnect", "dns")):
        return unreachable
    return f"{place}: {first[:300]}"
