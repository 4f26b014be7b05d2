"""Passes the output of worker processes on to the terminal with a prefix, at most a screenful of it."""

import contextlib
import os
import sys
import threading

from countenance.text import one_line, redacted

MOST_LINES = 40
"""Lines that are passed on of what all workers of a pool print."""
LONGEST_LINE = 500


class Relay:
    """The output of workers: prefixed, without control characters, and truncated where it gets long."""

    def __init__(self, label: str) -> None:
        self.label, self.left = label, MOST_LINES
        self.lock = threading.Lock()

    def follow(self, handle: int) -> threading.Thread:
        """Pass on what is printed into a pipe until its end."""
        thread = threading.Thread(target=self._follow, args=(handle,), daemon=True)
        thread.start()
        return thread

    def _follow(self, handle: int) -> None:
        rest = b""
        try:
            while block := os.read(handle, 65536):
                *lines, rest = (rest + block).replace(b"\r", b"\n").split(b"\n")
                rest = rest[:LONGEST_LINE]
                for line in lines:
                    self._say(line)
            self._say(rest)
        finally:
            os.close(handle)

    def _say(self, line: bytes) -> None:
        if not line.strip():
            return
        with self.lock:
            self.left -= 1
            if self.left < -1:
                return
            text = one_line(redacted(line[:LONGEST_LINE].decode("utf-8", "replace")), LONGEST_LINE)
            text = text if self.left >= 0 else "… (what else is printed is left out)"
            with contextlib.suppress(OSError, ValueError, AttributeError):
                print(f"{self.label}| {text}", file=sys.stderr, flush=True)
