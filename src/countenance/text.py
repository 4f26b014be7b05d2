"""Text from foreign files or with secrets, made safe for terminals and for files that others read."""

import os
import re
import unicodedata

from countenance.errors import InputError

SECRETS = ("AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN")
"""Variables whose values are never printed or stored."""
SHORTEST_SECRET = 16
"""A shorter value may be a word of its own, such as a server's default password in a test."""
HIDDEN = "…"
LONGEST_WORDS = 10_000
"""The most characters of an exception's text that are read."""
# A password may hold slashes, so a colon that no port follows hides everything up to the last @ of the word. The
# lengths are limited because a hostile text would otherwise take time that grows with its square. A URL that was taken
# for a path has one slash.
_IN_URL = re.compile(
    r"""(://|(?<=\w\w):/(?!/))(?:
        [^\s/?#"'<>@:]{0,256} : (?!\d{1,5}(?:[/?#\s"'<>]|$)) [^\s"'<>]{0,512} @   # user:password@
        | [^\s/?#"'<>@]{1,256} (?:@|%40)                                         # user@, or with its signs as codes
    )""",
    re.VERBOSE,
)
_IN_QUERY = re.compile(
    r"""(\b(?:X-(?:Amz|Goog)-(?:Signature|Credential|Security-Token)|AWSAccessKeyId|Signature|sig)
        | (?<=[?&;])(?:[\w-]{0,40}[_-])?(?:token|api_?key|password|passwd|pwd|secret))=[^&\s"'<>]+""",
    re.VERBOSE | re.IGNORECASE,
)


def redacted(text: str) -> str:
    """The text without credentials: those in URLs, in signed addresses, and in environment variables.

    All text that is printed or stored passes through here (`cli.lines.say`, `files.to_json`, a worker's output).

    >>> redacted("s3://AKIA:a/b+c@bucket/run, http://me:pw@host:80/x, http://host:80/me@x, s3://bucket/me@x")
    's3://…@bucket/run, http://…@host:80/x, http://host:80/me@x, s3://bucket/me@x'
    >>> redacted("s3:/KEY:SECRET@bucket: no such file, C:/me@x")
    's3:/…@bucket: no such file, C:/me@x'
    >>> redacted("s3://KEY%3ASECRET%40bucket/run, s3://bucket/me%40x")
    's3://…@bucket/run, s3://bucket/me%40x'
    >>> redacted("https://host/x?page=2&access_token=abc of s3://bucket/run?X-Amz-Signature=abc")
    'https://host/x?page=2&access_token=… of s3://bucket/run?X-Amz-Signature=…'
    """
    if ":/" in text:
        text = _IN_URL.sub(rf"\1{HIDDEN}@", text)
    if "=" in text:
        text = _IN_QUERY.sub(rf"\1={HIDDEN}", text)
    for name in SECRETS:
        value = os.environ.get(name, "")
        if len(value) >= SHORTEST_SECRET and value in text:
            text = text.replace(value, HIDDEN)
    return text


def has_credentials(url: str) -> bool:
    """Whether a URL carries a name, a password, a token or a signature.

    >>> has_credentials("s3://KEY:SECRET@bucket/run"), has_credentials("s3://bucket/me@x")
    (True, False)
    >>> has_credentials("https://host/x?token=abc"), has_credentials("token=abc")
    (True, False)
    """
    return bool(_IN_URL.search(url)) or ("://" in url and bool(_IN_QUERY.search(url)))


def refuse_credentials(url: str) -> None:
    """Refuse a URL that carries a key or a password; it is shown without them.

    >>> refuse_credentials("s3://KEY:SECRET@bucket/run")
    Traceback (most recent call last):
    countenance.errors.InputError: s3://…@bucket/run: credentials in an address end up in logs and histories; set ...
    """
    if has_credentials(url):
        raise InputError(
            f"{redacted(url)}: credentials in an address end up in logs and histories; set AWS_ACCESS_KEY_ID and "
            "AWS_SECRET_ACCESS_KEY, and leave them out of the address"
        )


def printable(text: str) -> str:
    """The text with control characters as codes; line ends, tabs and spaces of every width stay.

    >>> printable("red" + chr(27) + "[31m") == "red" + chr(92) + "x1b[31m"
    True
    """
    return "".join(sign if _harmless(sign) else sign.encode("unicode_escape").decode() for sign in text)


def _harmless(sign: str) -> bool:
    """Whether a character is harmless on a terminal; letters unknown to this version of Unicode count as harmless."""
    return sign.isprintable() or sign in "\n\t" or unicodedata.category(sign) in ("Zs", "Cn", "Co")


def one_line(text: str, longest: int = 200) -> str:
    """The text as one short line that can be stored and shown, for names from foreign files.

    >>> one_line("mine" + chr(10) + "verdict  none"), one_line("n" * 300)[-3:], one_line(chr(0xD800))
    ('mine verdict none', 'nn…', '\\\\ud800')
    """
    plain = " ".join(text.encode("utf-8", "backslashreplace").decode().split())
    return printable(plain if len(plain) <= longest else plain[: longest - 1] + "…")


def bounded(text: str, longest: int = 2000) -> str:
    """The text, cut in the middle if very long, for messages that repeat a name from a foreign file.

    >>> bounded("no column xxxxxxxxxxxxxxxxxxxxxxxx; add it", 24)
    'no column xxxxx … add it'
    """
    tail = longest // 4
    return text if len(text) <= longest else f"{text[: longest - tail - 3]} … {text[-tail:]}"


def words_of(error: BaseException) -> str:
    """The text of an exception; only its kind if a foreign class fails here in any way.

    >>> words_of(ValueError("bad magic"))
    'bad magic'
    """
    try:
        return str.__getitem__(str(error), slice(LONGEST_WORDS))  # plain str, also of a subclass
    except BaseException:
        return kind_of(error)


def kind_of(error: BaseException) -> str:
    """The name of an exception's class, which a foreign class cannot override.

    >>> kind_of(ValueError("bad magic"))
    'ValueError'
    """
    name: str = type.__dict__["__name__"].__get__(type(error))
    return name


def kind_and_words(error: BaseException) -> str:
    """An exception's kind and text, or its kind alone.

    >>> kind_and_words(ValueError("bad magic")), kind_and_words(EOFError())
    ('ValueError: bad magic', 'EOFError')
    """
    kind, words = kind_of(error), words_of(error)
    return f"{kind}: {words}" if words and words != kind else kind
