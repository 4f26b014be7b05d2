"""Operating points: for a number of false alarms the threshold and the share found, by group with intervals."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countenance.auditing import estimates
from countenance.auditing.finding import Estimate
from countenance.auditing.table import UNKNOWN
from countenance.data.adapters.uccs_protocol import Protocol
from countenance.data.tables import near
from countenance.data.vocabulary import in_order
from countenance.errors import InputError
from countenance.metrics.curves import MISSED, RateCurve, thresholds_at
from countenance.suites.uccs.evaluation import UccsEvaluation

EVERYBODY = "all"
JSON_NAMES = {"target": "wanted", "allowed": "wanted", "hits": "found"}
FEW = 5
"""Groups with fewer faces have no curve, because it would show mostly chance."""


@dataclass(frozen=True)
class Point:
    """One line of the table: a group at a threshold."""

    attribute: str
    group: str
    target: float
    """The requested number of false alarms (per image in version 3)."""
    threshold: float
    false_alarms: float
    """The number that the threshold actually lets pass, in the same unit."""
    n: int
    hits: int
    rate: float
    low: float
    high: float


def json_fields(value: Any) -> dict[str, Any]:
    """The fields of a point or of a calibration under their JSON names."""
    return {JSON_NAMES.get(name, name): field for name, field in vars(value).items()}


@dataclass(frozen=True)
class GroupCurve:
    """The curve of one group; false alarms are those of all images, so groups share their thresholds."""

    attribute: str
    group: str
    n: int
    curve: RateCurve


def groups_of(evaluation: UccsEvaluation, by: Sequence[str]) -> dict[str, NDArray[np.str_]]:
    """The group of every unit under each attribute, from the protocol's further columns.

    For a probe that is in an image twice, its first face decides.
    """
    known = columns_of(evaluation.protocol, by)
    return {name.lower(): np.array(known[name.lower()])[evaluation.unit_face] for name in by}


def columns_of(protocol: Protocol, by: Sequence[str]) -> dict[str, list[str]]:
    """The further columns of a protocol by their names in small letters; InputError where one of `by` is not there."""
    known = {name.lower(): values for name, values in protocol.attributes.items()}
    for name in by:
        if name.lower() not in known:
            there = ", ".join(known) or "none"
            raise InputError(
                f"{protocol.path}: no column {name!r}{near(name.lower(), list(known))} to group by; "
                f"further columns here: {there}"
            )
    return known


def unlike_groups(evaluation: UccsEvaluation, by: Sequence[str]) -> list[str]:
    """A note on probes that are in an image twice and in two groups: the first face decides.

    A probe is a known subject in an image; only recognition under version 2 has probes.
    """
    if evaluation.kind == "FROC" or evaluation.version != 2:
        return []
    protocol, notices = evaluation.protocol, []
    key = np.stack([protocol.image, protocol.subject], axis=1)[protocol.subject > 0]
    _, probe = np.unique(key, axis=0, return_inverse=True)
    known = {name.lower(): np.array(values) for name, values in protocol.attributes.items()}
    for name in by:
        values = known[name.lower()][protocol.subject > 0]
        pairs = np.unique(np.stack([probe.ravel().astype(str), values], axis=1), axis=0)
        several = int((np.unique(pairs[:, 0], return_counts=True)[1] > 1).sum())
        if several:
            probes = "1 subject is" if several == 1 else f"{several} subjects are"
            about = f"{probes} twice in an image, in two groups of {name.lower()}"
            notices.append(f"{about}: one probe, counted in the group of the first face")
    return notices


def group_curves(evaluation: UccsEvaluation, by: Sequence[str], *, least: int = FEW) -> list[GroupCurve]:
    """A curve for every group of at least `least` units, at the thresholds of the whole curve."""
    curve, curves = evaluation.curve, []
    nothing = curve.y == 0
    for attribute, values in groups_of(evaluation, by).items():
        for group in in_order(attribute, values.tolist()):
            units = np.sort(evaluation.units[values == group])
            if len(units) < least or not group:
                continue
            y = (len(units) - np.searchsorted(units, curve.thresholds)) / len(units)
            y = np.where(nothing, 0, y)  # as on the whole curve: version 2 has targets that cannot be kept
            y = np.where(np.isneginf(curve.thresholds), (units > MISSED).mean(), y)
            curves.append(GroupCurve(attribute, group, len(units), RateCurve(curve.x, y, curve.thresholds)))
    return curves


def default_targets(evaluation: UccsEvaluation) -> list[float]:
    """Powers of ten up to all false alarms; in version 3, per image."""
    all_ = len(evaluation.negatives) / evaluation.scale
    return [10.0**k for k in range(-3, 7) if 1 / evaluation.scale <= 10.0**k < all_] + [all_]


def middle(evaluation: UccsEvaluation) -> float:
    """The target in the middle of the curve: a tenth of all false alarms, at least one; a count over all images."""
    return max(1.0, float(round(len(evaluation.negatives) / 10)))


def operating_points(
    evaluation: UccsEvaluation,
    by: Sequence[str] = (),
    targets: Sequence[float] | None = None,
    people: NDArray[np.str_] | None = None,
) -> list[Point]:
    """The table: every target for everybody together and for every group, with the intervals of `shares`."""
    rates = list(targets) if targets is not None else default_targets(evaluation)
    thresholds = thresholds_at(evaluation.negatives, np.array(rates) * evaluation.scale).tolist()
    groups = groups_of(evaluation, by)
    hits = [evaluation.hit(threshold) for threshold in thresholds]
    points = []
    for target, threshold, hit, share in zip(
        rates, thresholds, hits, shares(evaluation, hits, groups, people), strict=True
    ):
        passed = float(np.count_nonzero(evaluation.negatives >= threshold)) / evaluation.scale
        about = (target, threshold, passed)
        points.append(_point((EVERYBODY, EVERYBODY), about, hit, share[EVERYBODY, EVERYBODY]))
        for attribute, values in groups.items():
            points += [
                _point((attribute, group), about, hit[values == group], share[attribute, group])
                for group in in_order(attribute, values.tolist())
            ]
    return points


def _point(name: tuple[str, str], about: tuple[float, float, float], hit: NDArray[np.bool_], share: Estimate) -> Point:
    return Point(*name, *about, len(hit), int(hit.sum()), float(hit.mean()), share.low, share.high)


def shares(
    evaluation: UccsEvaluation,
    outcomes: Sequence[NDArray[np.bool_]],
    groups: Mapping[str, NDArray[np.str_]] | None = None,
    people: NDArray[np.str_] | None = None,
) -> list[dict[tuple[str, str], Estimate]]:
    """The share of each outcome among everybody and in each group, with the interval of an audit.

    Faces of one person and of one image are not independent. `people` has the person of each face in the protocol,
    empty if unnamed (None: known subjects by their number).
    """
    if people is None:
        numbers = evaluation.protocol.subject
        people = np.where(numbers > 0, numbers.astype(str), "")
    compared = {EVERYBODY: np.full(len(evaluation.units), EVERYBODY)} | dict(groups or {})
    keys = [f"g{i}" for i in range(len(compared))]  # a name of the protocol could be read as bins
    columns = dict(zip(keys, compared.values(), strict=True))
    table: dict[str, Any] = {f"attr.{key}": [value or None for value in columns[key].tolist()] for key in keys}
    table |= {f"m.{i}": outcome.astype(np.float64) for i, outcome in enumerate(outcomes)}
    table["sample"] = evaluation.unit_image
    persons = people[evaluation.unit_face].tolist()
    table |= {"identity": [name or None for name in persons]} if any(persons) else {}
    names, most = dict(zip(keys, compared, strict=True)), max(len(set(values.tolist())) for values in columns.values())
    metrics = [str(i) for i in range(len(outcomes))]
    each: list[dict[tuple[str, str], Estimate]] = [{} for _ in outcomes]
    for estimate in estimates(table, keys, metrics, depth=1, better="higher", max_groups=max(most, 1000)):
        group = "" if estimate.group == UNKNOWN else estimate.group
        each[int(estimate.metric)][names[estimate.attribute], group] = estimate
    return each


def table_lines(points: Sequence[Point]) -> list[str]:
    """The table for a terminal."""
    lines = [f"{'group':28} {'wanted':>9} {'threshold':>10} {'passed':>9} {'found':>12} {'rate':>7}  95 % interval"]
    for point in points:
        name = point.group if point.attribute == EVERYBODY else f"{point.attribute} {point.group}"
        share = f"{point.hits}/{point.n}"
        lines.append(
            f"{name:28.28} {point.target:9.4g} {point.threshold:10.5g} {point.false_alarms:9.4g} {share:>12} "
            f"{point.rate:7.3f}  {point.low:.3f} to {point.high:.3f}"
        )
    return lines
