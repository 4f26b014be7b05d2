"""FHIBE's validation rate (VAL): same pairs accepted at a false acceptance rate of 0.001, overall and by group."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countenance.metrics.pairs.comparisons import Comparisons
from countenance.metrics.pairs.groups import AcceptedCounts, Groups
from countenance.metrics.pairs.vectors import Vectors
from countenance.metrics.verification import Verification, accepted_shares, validation_rate
from countenance.metrics.verification_bands import roc_bands
from countenance.metrics.verification_strict import draw_pairs, rates_of_pairs
from countenance.tasks.results import Axis, Curve, Line, Number, Result, Table
from countenance.tasks.verification_results import false_matches

Array = NDArray[np.float64]
Rows = NDArray[np.intp]
FAR = 0.001
"""The false acceptance rate at which VAL is read; it is marked on the ROC."""
VAL = "share of same pairs accepted at the largest threshold with a false acceptance rate of at most 0.001"
RATES = "Validation rate of each group"
BY_GROUP = (
    "exact over all pairs within the group; the threshold is the group's own. A group without 3,000 different pairs "
    "cannot resolve a false acceptance rate of 0.001 and says so"
)
EER = "where false acceptances and false rejections are equally frequent"


@dataclass(frozen=True)
class Pictures:
    """Pictures with their people and embeddings (a row of NaN if missing)."""

    vectors: Array
    people: NDArray[Any]
    _measured: dict[bytes, Verification | None] = field(default_factory=dict)

    @property
    def embedded(self) -> Rows:
        """The pictures that have an embedding."""
        return np.flatnonzero(~np.isnan(self.vectors).any(axis=1))

    def codes(self, rows: Rows) -> NDArray[np.int64]:
        """The people of some pictures as numbers."""
        return np.unique(self.people[rows], return_inverse=True)[1]

    def rate(self, rows: Rows) -> Verification | None:
        """The exact validation rate over some pictures; None when there is no same or no different pair."""
        rows = rows[~np.isnan(self.vectors[rows]).any(axis=1)]
        key = rows.tobytes()
        if key not in self._measured:
            code = self.codes(rows)
            pairs = len(rows) and code.max() >= 1 and np.bincount(code).max() >= 2
            self._measured[key] = validation_rate(self.vectors[rows], code) if pairs else None
        return self._measured[key]

    def entry(self, rows: Rows) -> dict[str, Any] | None:
        """The rate of some pictures with all its fields; None without pairs."""
        rate = self.rate(rows)
        return (
            None
            if rate is None
            else {
                "VAL": rate.val,
                "VAL_Low": rate.low,
                "VAL_High": rate.high,
                "EER": rate.eer,
                "FAR": rate.far,
                "Threshold": rate.threshold,
                "Class_Size": rate.images,
                "Identities": rate.identities,
                "Same / Different Pairs": f"{rate.same_pairs}/{rate.different_pairs}",
                "Evidence": "sufficient" if rate.sufficient else "insufficient evidence",
            }
        )

    def published(self, rows: Rows, keys: Sequence[str]) -> dict[str, Any] | None:
        """The rate as FHIBE published it: over pairs drawn from the sorted `keys` of the pictures, in ten folds."""
        if not len(rows):
            return None
        code = self.codes(rows)
        rows = rows[np.bincount(code)[code] >= 2]
        identities = len(np.unique(self.people[rows]))
        if identities < 2:
            return None
        same, different = draw_pairs([keys[i] for i in rows], self.people[rows].tolist())
        val, deviation, far, folds = rates_of_pairs(self.vectors[rows], same, different)
        return {
            "VAL": float(np.around(val, 2)),
            "VAL_Error": float(np.around(deviation, 2)),
            "Class_Size": len(rows),
            "Identities": identities,
            "Same / Different Pairs": f"{len(same)}/{len(different)}",
            "_unrounded": {"VAL": val, "VAL_Error": deviation, "FAR": far, "folds": folds},
        }

    def number(self, rows: Rows, **about: Any) -> Number | None:
        """The rate of some pictures as a result; None without pairs."""
        rate = self.rate(rows)
        if rate is None:
            return None
        note = "" if rate.sufficient else "insufficient evidence: fewer than 3,000 different pairs"
        return Number(
            name="VAL",
            meaning=VAL,
            value=rate.val,
            low=rate.low,
            high=rate.high,
            n=rate.images,
            unit="images",
            better="higher",
            note=note,
            **about,
        )

    def by_group(self, groups: Mapping[str, Groups]) -> list[Result]:
        """The rate of everybody and of each group, each at its own threshold."""
        rows: list[tuple[Rows, dict[str, str]]] = [(self.embedded, {})]
        for attribute, grouping in groups.items():
            members = zip(grouping.names, grouping.pictures.T, strict=True)
            rows += [(np.flatnonzero(member), {"attribute": attribute, "group": name}) for name, member in members]
        numbers = [self.number(members, **about) for members, about in rows]
        return [number for number in numbers if number is not None]

    def table(self, groups: Iterable[tuple[str, str, Rows]]) -> Table:
        """The rates of all groups with pairs; a group is given by its attributes, its name and its pictures."""
        rows = []
        for by, name, members in groups:
            if entry := self.entry(members):
                interval = f"{entry['VAL_Low']:.3f} to {entry['VAL_High']:.3f}"
                evidence = (entry[about] for about in ("Identities", "Same / Different Pairs", "Evidence"))
                rows.append([by, name, round(entry["VAL"], 6), interval, *evidence])
        columns = ["By", "Group", "VAL", "Interval", "People", "Pairs, same / different", "Evidence"]
        return Table(name=RATES, meaning=BY_GROUP, columns=columns, rows=rows)

    def false_matches(self, groups: Mapping[str, Groups]) -> list[Result]:
        """FMR between and within the groups at everybody's threshold."""
        everyone, rows = self.rate(self.embedded), self.embedded
        if everyone is None:
            return []
        order = np.argsort(self.codes(rows), kind="stable")
        rows = rows[order]
        here = {name: members.taken(rows) for name, members in groups.items()}
        compared = Comparisons.of(Vectors.of(self.vectors[rows], "dot"), self.codes(rows))
        counts = AcceptedCounts(compared.identity, list(here.values()))
        compared.accepted(float(np.nextafter(everyone.threshold, np.inf)), counts.add)
        at = f" at a similarity above {everyone.threshold:.6g}"
        parts = [false_matches(counts, k, name, members, at) for k, (name, members) in enumerate(here.items())]
        return [result for part in parts for result in part]

    def overall(self) -> tuple[list[Result], dict[str, Array]]:
        """VAL, EER and ROC of everybody, and each picture's share of accepted pairs at their threshold."""
        rows = self.embedded
        everyone, val = self.rate(rows), self.number(rows)
        if everyone is None or val is None:
            return [], {}
        code = self.codes(rows)
        bands = roc_bands(self.vectors[rows], code)
        eer = Number(
            name="EER",
            meaning=EER,
            value=everyone.eer,
            low=bands.eer_low,
            high=bands.eer_high,
            n=everyone.images,
            unit="images",
            better="lower",
        )
        far, rate, low, high = (column.tolist() for column in (bands.far, bands.val, bands.val_low, bands.val_high))
        roc = Curve(
            name="ROC",
            x=Axis(label="false acceptance rate", log=True),
            y=Axis(label="validation rate"),
            marks=[FAR],
            lines=[Line(label="everyone", x=far, y=rate, low=low, high=high)],
        )
        columns = {}
        shares = accepted_shares(self.vectors[rows], code, everyone.threshold)
        for name, share in zip(("genuine_accepted", "impostor_accepted"), shares, strict=True):
            columns[name] = np.full(len(self.people), np.nan)
            columns[name][rows] = share
        return [val, eer, roc], columns
