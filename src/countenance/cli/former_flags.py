"""Flags that have another name now: each is read as the flag that replaced it."""

from collections.abc import Mapping, Sequence

from countenance.cli.lines import note

PLACES = {"--data": "--data-at"}
FORMER: Mapping[str, Mapping[str, str]] = {
    "run": {"--box-format": "--boxes"},
    "suite run": {"--box-format": "--boxes", "--task": "--tasks"},
    "report": PLACES,
    "purge": PLACES,
    "view": PLACES,
    "fhibe purge": PLACES,
    "plan": {"--data": "--source", "--baseline": "--rate"},
    "leaderboard": {"--out": "--report"},
    "data export": {"--format": "--layout"},
    "mask-fairness assess": {"--box-format": "--truth-boxes", "--units": "--truth-units"},
    "mask-fairness make-data": {"--box-format": "--truth-boxes", "--units": "--truth-units", "--format": "--layout"},
    "bias-bounty open": {"--crew": "--admit"},
    "uccs score": {"--gallery": "--gallery-embeddings", "--probes": "--probe-embeddings"},
    "uccs calibrate": {"--result-file": "--scores"},
    "happyfaces build": {"--pair": "--features"},
    "happyfaces ask": {"--batch": "--fit-every"},
}
"""By command, the flags that meant something else in other commands, with what they are called now."""


CURVES = {"--labels": "--curve-names", "--only-present": "--detected-images"}
DOCUMENTED: Mapping[str, Mapping[str, str]] = {"uccs evaluate-detector": CURVES, "uccs evaluate-recognizer": CURVES}
"""By command, flags of an original's documentation that mean something else in our commands: read without a note."""


def in_flags_of_today(command: str, arguments: Sequence[str]) -> list[str]:
    """The arguments of a command, with former flags, and those of an original, replaced by present ones.

    >>> in_flags_of_today("happyfaces ask", ["--batch=5", "-d", "faces"])
    ['--fit-every=5', '-d', 'faces']
    """
    former, documented, current = FORMER.get(command, {}), DOCUMENTED.get(command, {}), list(arguments)
    end = current.index("--") if "--" in current else len(current)
    for place, word in enumerate(current[:end]):
        flag, equals, value = word.partition("=")
        if flag in former:
            note(f"{flag} is now called {former[flag]}; both are read")
        if flag in former or flag in documented:
            current[place] = {**former, **documented}[flag] + equals + value
    return current
