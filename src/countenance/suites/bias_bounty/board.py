"""The leaderboard: a folder of submissions, scored anew by us, ranked public and private.

    BOARD/NAME/submission.json  test.csv  [holdout.csv]  [timing.json]

Public: Score₁ on the test. Private: Score₂ on the holdout, from randomness and efficiency too. What a submission
says of its own score is kept but never used. Entries whose intervals overlap with the best of a group are tied.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from countenance.errors import InputError
from countenance.files import write_json
from countenance.metrics.bounty import efficiency, score2
from countenance.suites.bias_bounty.files import ATTRIBUTES, Table, read_labels, read_names, read_predictions
from countenance.suites.bias_bounty.scoring import Score, score_files
from countenance.suites.bias_bounty.writing import new_folder

KINDS = ("supervised", "semi-supervised", "unsupervised")
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9 ._-]{0,63}")


@dataclass(frozen=True)
class Standing:
    """One entry on the board."""

    name: str
    kind: str
    public: Score
    private: Score | None = None
    timing: dict[str, Any] | None = None
    efficiency: float = 1.0

    @property
    def score2(self) -> float | None:
        return None if self.private is None else score2(self.private.score1, self.private.multiplier, self.efficiency)

    @property
    def score2_interval(self) -> tuple[float, float] | None:
        """Score₁'s interval times the multipliers earned."""
        if self.private is None:
            return None
        low, high = self.private.score1_interval
        factor = self.private.multiplier * self.efficiency
        return low * factor, high * factor

    def value(self, which: str) -> tuple[float, float, float] | None:
        """The score that ranks this entry, with its interval."""
        if which == "public":
            return self.public.score1, *self.public.score1_interval
        first, bounds = self.score2, self.score2_interval
        return None if first is None or bounds is None else (first, *bounds)


@dataclass(frozen=True)
class Place:
    """A row of a table: entries with the same rank are tied."""

    rank: int
    tied: bool
    standing: Standing
    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Board:
    """Every submission, ranked or rejected."""

    standings: tuple[Standing, ...]
    rejected: dict[str, str]
    notes: tuple[str, ...]
    strict_rubric: bool = False
    folder: Path = field(default=Path())

    def places(self, which: str, kinds: Sequence[str] = KINDS) -> list[Place]:
        """The table `public` or `private` of the given kinds, best first."""
        rows = [(s, value) for s in self.standings if s.kind in kinds and (value := s.value(which)) is not None]
        return tied_places([(s, *value) for s, value in rows])

    def to_json(self) -> dict[str, Any]:
        tables: dict[str, Any] = {}
        for which in ("public", "private"):
            for group, kinds in (("all", KINDS), ("supervised", KINDS[:2]), ("unsupervised", KINDS[2:])):
                tables.setdefault(which, {})[group] = [
                    {
                        "rank": p.rank, "tied": p.tied, "name": p.standing.name, "kind": p.standing.kind,
                        "score": p.value, "interval": [p.low, p.high],
                    }
                    for p in self.places(which, kinds)
                ]  # fmt: skip
        return {
            "tables": tables,
            "entries": {
                s.name: {
                    "kind": s.kind,
                    "public": s.public.to_json(),
                    "private": None if s.private is None else s.private.to_json(),
                    "timing": s.timing,
                    "efficiency": s.efficiency,
                    "score2": s.score2,
                    "score2_interval": s.score2_interval,
                }
                for s in self.standings
            },
            "rejected": self.rejected,
            "notes": list(self.notes),
            "strict_rubric": self.strict_rubric,
        }


def tied_places(rows: list[tuple[Standing, float, float, float]]) -> list[Place]:
    """Ranks by score; an entry whose interval reaches that of the first of its group ties with it.

    A group begins with its best entry, so a chain of small steps never ties the first with the last.
    """
    rows = sorted(rows, key=lambda row: (-row[1], row[0].name))
    groups: list[list[int]] = []
    for i, row in enumerate(rows):
        if groups and row[3] >= rows[groups[-1][0]][2]:
            groups[-1].append(i)
        else:
            groups.append([i])
    return [Place(group[0] + 1, len(group) > 1, rows[i][0], *rows[i][1:]) for group in groups for i in group]


def hand_in(
    board: Path,
    name: str,
    kind: str,
    data: Path,
    *,
    test: Path,
    holdout: Path | None = None,
    timing: Path | None = None,
    replace: bool = False,
) -> Score:
    """Check predictions whole, score the public test, and put the submission on the board."""
    if not NAME.fullmatch(name):
        raise InputError(f"name {name!r}: expected 1 to 64 letters, digits, spaces, dots, dashes or underscores")
    if kind not in KINDS:
        raise InputError(f"kind {kind!r}: expected one of {', '.join(KINDS)}")
    score = score_files(data / "test" / "labels.csv", test)
    if holdout is not None:
        checked_holdout(data, holdout)
    measured = None if timing is None else read_timing(timing)
    if board.is_file():
        raise InputError(f"{board}: a file; --board is a folder of submissions (it is made where there is none)")
    if (board / name).exists() and not replace:
        raise InputError(f"{board / name}: an entry of this name is there; give --replace or another name")
    with new_folder(board / name, replace=replace) as folder:
        write_json(folder / "submission.json", score.submission(name) | {"kind": kind})
        (folder / "test.csv").write_bytes(test.read_bytes())
        if holdout is not None:
            (folder / "holdout.csv").write_bytes(holdout.read_bytes())
        if measured is not None:
            write_json(folder / "timing.json", measured)
    return score


def checked_holdout(data: Path, predictions: Path) -> Table:
    """The holdout's predictions, refused with every problem when they are not whole."""
    names = read_labels(data / "holdout" / "labels.csv").names
    listed = data / "holdout" / "nonfaces.txt"
    outside = read_names(listed) if listed.exists() else ()
    return read_predictions(predictions, dict.fromkeys((*names, *outside)))


def read_timing(path: Path) -> dict[str, Any]:
    """A timing that `time --json` wrote."""
    found = _json(path)
    seconds = found.get("seconds")
    if not isinstance(seconds, (int, float)) or not 0 < seconds < float("inf"):
        raise InputError(f"{path}: no number 'seconds' above 0; `countenance bias-bounty time --json` writes one")
    return found


def _json(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except ValueError as error:
        raise InputError(f"{path}: not JSON ({error})") from error
    if not isinstance(found, dict):
        raise InputError(f"{path}: a {type(found).__name__}, expected an object")
    return found


def rank(board: Path, data: Path, *, strict_rubric: bool = False, replicates: int = 2000, seed: int = 0) -> Board:
    """Score every submission anew and rank; one that cannot be scored is rejected with the reason."""
    folders = sorted(path.parent for path in board.glob("*/submission.json"))
    if not folders:
        raise InputError(f"{board}: no submissions; `countenance bias-bounty submit` hands one in")
    read_labels(data / "test" / "labels.csv")
    standings, rejected = [], {}
    for folder in folders:
        try:
            standings.append(_standing(folder, data, replicates, seed))
        except InputError as error:
            rejected[folder.name] = str(error)
    timed = [s for s in standings if s.private is not None and s.timing is not None]
    seconds = [s.timing["seconds"] / s.timing["images"] for s in timed if s.timing]
    multipliers = efficiency(seconds, strict_rubric=strict_rubric)
    earned = {s.name: multiplier for s, multiplier in zip(timed, multipliers, strict=True)}
    ranked = tuple(Standing(s.name, s.kind, s.public, s.private, s.timing, earned.get(s.name, 1.0)) for s in standings)
    return Board(ranked, rejected, tuple(_notes(ranked, len(timed), strict_rubric)), strict_rubric, board)


def _standing(folder: Path, data: Path, replicates: int, seed: int) -> Standing:
    said = _json(folder / "submission.json")
    kind = said.get("kind")
    if kind not in KINDS:
        raise InputError(f"{folder / 'submission.json'}: kind is {kind!r}, expected one of {', '.join(KINDS)}")
    test, holdout = data / "test", data / "holdout"
    public = score_files(test / "labels.csv", folder / "test.csv", replicates=replicates, seed=seed)
    private = None
    if (folder / "holdout.csv").exists() and (holdout / "labels.csv").exists():
        listed = holdout / "nonfaces.txt"
        private = score_files(
            holdout / "labels.csv", folder / "holdout.csv", listed if listed.exists() else None,
            replicates=replicates, seed=seed,
        )  # fmt: skip
    timing = read_timing(folder / "timing.json") if (folder / "timing.json").exists() else None
    return Standing(folder.name, str(kind), public, private, timing)


def _notes(standings: Sequence[Standing], timed: int, strict_rubric: bool) -> list[str]:
    notes = []
    if timed < 10:
        notes.append(
            f"{timed} timed {'entry' if timed == 1 else 'entries'}: with fewer than 10 the top 10 % is empty by the "
            "literal rule, nobody earns ×1.2"
        )
    untimed = [s.name for s in standings if s.private is not None and s.timing is None]
    if untimed:
        notes.append(f"without a timing, efficiency ×1: {', '.join(untimed)}")
    machines = {str(s.timing.get("machine")) + f", {s.timing.get('threads')} threads" for s in standings if s.timing}
    if len(machines) > 1:
        notes.append(f"timings come from different machines and do not compare: {'; '.join(sorted(machines))}")
    without = [s.name for s in standings if s.private is None]
    if without:
        notes.append(f"no answers on the holdout, not in the private tables: {', '.join(without)}")
    if strict_rubric:
        notes.append("strict rubric: between 10 and 15 % of inference times no multiplier is earned")
    return notes


def table_lines(board: Board) -> list[str]:
    """The tables in words."""
    lines = []
    for which, title in (("public", "public: Score₁ on the test"), ("private", "private: Score₂ on the holdout")):
        for group, kinds in (("supervised", KINDS[:2]), ("unsupervised", KINDS[2:])):
            places = board.places(which, kinds)
            if not places:
                continue
            lines.append(f"{title}, {group}")
            for p in places:
                extra = ""
                if which == "private" and p.standing.private is not None:
                    extra = f"   randomness ×{p.standing.private.multiplier:.4g}, efficiency ×{p.standing.efficiency:g}"
                rank_ = f"{p.rank}{'=' if p.tied else ' '}"
                lines.append(f"  {rank_:>4} {p.standing.name:24} {p.value:8.4f} [{p.low:.3f}, {p.high:.3f}]{extra}")
    lines += [f"rejected {name}: {why}" for name, why in board.rejected.items()]
    lines += [f"note     {note}" for note in board.notes]
    return lines


__all__ = ["ATTRIBUTES", "Board", "Place", "Standing", "hand_in", "rank", "table_lines", "tied_places"]
