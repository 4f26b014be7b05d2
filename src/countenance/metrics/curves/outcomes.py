"""From overlapping boxes to outcomes: which detection found each face, and which are false alarms."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countenance.metrics.curves.pairs import (
    Boxes,
    Floats,
    Ints,
    challenge_overlap,
    intersection_over_union,
    overlapping_pairs,
)

Bools = NDArray[np.bool_]

MISSED = -np.inf
"""The score of a face that nobody found and of a probe that nobody recognised."""

NOBODY = -1
PIECE = 131_072
"""Pairs whose overlaps are made at once."""
ROUNDS = 16
"""Passes over all pairs at once; pairs that are left after them are matched one by one."""


@dataclass(frozen=True)
class ListedIdentities:
    """The identities a recogniser lists for its detections: row i owns `count[i]` entries from `start[i]`
    on.
    """

    start: Ints
    count: Ints
    identity: Ints
    score: Floats


@dataclass(frozen=True)
class Identification:
    """Outcome of open-set identification."""

    probe_face: Ints
    """The first truth face of each probe; a probe is a known subject in an image."""
    probe_score: Floats
    """The score of the probe's own identity when accepted, else `MISSED`."""
    negatives: Floats
    negative_row: Ints
    """The detection that each negative came from."""
    face_row: Ints
    """The detection each truth face takes, or -1."""
    stranger_score: Floats
    """For each truth face of an unknown subject, the score of the identity that it is mistaken for; otherwise
    `MISSED`."""


def detection_outcomes(
    faces: Boxes, face_image: Ints, boxes: Boxes, box_image: Ints, *, overlap: float
) -> tuple[Ints, Ints, Floats]:
    """Which face each detection hits (UCCS version 2), or -1 for a false alarm; and its best face and
    overlap.

    A detection hits the face that it overlaps most (the first such face), if that overlap is large enough, no other
    detection overlaps this face more, and no later one as much. So a face is hit at most once, and duplicates are false
    alarms.

    >>> boxes = np.array([[0.0, 0.0, 10.0, 10.0]])
    >>> twice = np.array([[1.0, 1.0, 8.0, 8.0], [1.0, 1.0, 8.0, 8.0], [50.0, 50.0, 9.0, 9.0]])
    >>> detection_outcomes(boxes, np.array([0]), twice, np.array([0, 0, 0]), overlap=0.5)[0]
    array([-1, 0, -1])
    """
    g, d = overlapping_pairs(faces, face_image, boxes, box_image)
    o = _in_pieces(challenge_overlap, faces, boxes, g, d)
    of_detection, star = _largest(o, d, g, len(boxes), first=True)
    of_face, last = _largest(o, g, d, len(faces), first=False)
    hit = of_detection >= overlap
    hit[hit] = (of_detection[hit] == of_face[star[hit]]) & (last[star[hit]] == np.flatnonzero(hit))
    return np.where(hit, star, NOBODY), star, of_detection


def best_detection(faces: Boxes, face_image: Ints, boxes: Boxes, box_image: Ints) -> tuple[Ints, Floats]:
    """The detection that overlaps each face most (the first such), or -1; and each detection's largest
    overlap.

    >>> boxes = np.array([[0.0, 0.0, 10.0, 10.0]])
    >>> detections = np.array([[9.0, 9.0, 9.0, 9.0], [1.0, 1.0, 8.0, 8.0]])
    >>> best_detection(boxes, np.array([0]), detections, np.array([0, 0]))[0]
    array([1])
    """
    g, d = overlapping_pairs(faces, face_image, boxes, box_image)
    o = _in_pieces(challenge_overlap, faces, boxes, g, d)
    _, first = _largest(o, g, d, len(faces), first=True)
    of_detection = np.zeros(len(boxes))
    np.maximum.at(of_detection, d, o)
    return first, of_detection


def _in_pieces(overlap: Callable[[Boxes, Boxes], Any], faces: Boxes, boxes: Boxes, g: Ints, d: Ints) -> Any:
    """The overlap of every pair, computed in pieces to save memory."""
    out = np.empty(len(g), dtype=faces.dtype)
    for start in range(0, len(g), PIECE):
        part = slice(start, start + PIECE)
        out[part] = overlap(faces[g[part]], boxes[d[part]])
    return out


def _largest(value: Floats, owner: Ints, other: Ints, owners: int, *, first: bool) -> tuple[Floats, Ints]:
    """Each owner's largest value and the first (or last) partner that has it; 0 and -1 without any."""
    best = np.zeros(owners)
    np.maximum.at(best, owner, value)
    tie = (value == best[owner]) & (value > 0)
    partner = np.full(owners, np.iinfo(np.int64).max if first else NOBODY)
    (np.minimum if first else np.maximum).at(partner, owner[tie], other[tie])
    partner[best <= 0] = NOBODY
    return best, partner


def match_one_to_one(faces: Boxes, face_image: Ints, boxes: Boxes, box_image: Ints, *, overlap: float) -> Ints:
    """The detection matched to each face, or -1 (UCCS version 3): greedily, the largest overlap of all first.

    Plain intersection over union in single precision; equal overlaps go to the earlier face, then the earlier
    detection.

    >>> boxes = np.array([[0.0, 0.0, 10.0, 10.0], [1.0, 0.0, 10.0, 10.0]])
    >>> match_one_to_one(boxes, np.array([0, 0]), np.array([[1.0, 0.0, 10.0, 10.0]]), np.array([0]), overlap=0.5)
    array([-1, 0])
    """
    faces, boxes = faces.astype(np.float32), boxes.astype(np.float32)
    g, d = overlapping_pairs(faces, face_image, boxes, box_image)
    o = _in_pieces(intersection_over_union, faces, boxes, g, d)
    enough = o >= np.float32(overlap)
    g, d, o = g[enough], d[enough], o[enough]
    matched = np.full(len(faces), NOBODY, dtype=np.int64)
    taken = np.zeros(len(boxes), dtype=bool)
    # Most pairs share no box with another pair; their order does not matter.
    alone = (np.bincount(g, minlength=len(faces))[g] == 1) & (np.bincount(d, minlength=len(boxes))[d] == 1)
    matched[g[alone]] = d[alone]
    g, d, o = g[~alone], d[~alone], o[~alone]
    order = np.lexsort((d, g, -o))
    g, d = g[order], d[order]
    for _ in range(ROUNDS):  # a pair that is first for both its sides is what greedy matching takes
        if not g.size:
            return matched
        rank = np.arange(len(g))
        first_g, first_d = np.full(len(faces), len(g)), np.full(len(boxes), len(g))
        np.minimum.at(first_g, g, rank)
        np.minimum.at(first_d, d, rank)
        take = (first_g[g] == rank) & (first_d[d] == rank)
        matched[g[take]] = d[take]
        taken[d[take]] = True
        left = (matched[g] == NOBODY) & ~taken[d]
        g, d = g[left], d[left]
    for face, detection in zip(g.tolist(), d.tolist(), strict=True):  # a long chain of ties is matched pair by pair
        if matched[face] == NOBODY and not taken[detection]:
            matched[face], taken[detection] = detection, True
    return matched


def keep_last_label(labels: ListedIdentities) -> ListedIdentities:
    """Labels without repeated identities in a row: the last score listed for an identity counts.

    >>> identities = ListedIdentities(np.array([0]), np.array([3]), np.array([7, 9, 7]), np.array([0.1, 0.2, 0.3]))
    >>> keep_last_label(identities).score
    array([0.2, 0.3])
    """
    identity = labels.identity
    row = np.repeat(np.arange(len(labels.count)), labels.count)
    names, code = np.unique(identity, return_inverse=True)
    key = row * len(names) + code  # equal for the same identity in the same row only
    order = np.argsort(key, kind="stable")
    again = np.zeros(len(key), dtype=bool)
    again[order[:-1]] = key[order[1:]] == key[order[:-1]]
    if not again.any():
        return labels
    count = np.bincount(row[~again], minlength=len(labels.count))
    return ListedIdentities(np.cumsum(count) - count, count, identity[~again], labels.score[~again])


def identification_outcomes(
    faces: Boxes,
    face_image: Ints,
    subject: Ints,
    boxes: Boxes,
    box_image: Ints,
    labels: ListedIdentities,
    *,
    overlap: float,
    rank: int,
) -> Identification:
    """Open-set identification of UCCS version 2.

    Each face takes the detection that overlaps it most. A known face (`subject` > 0) is a probe: accepted
    when fewer than `rank` other listed scores reach the score of its own identity. A face of an unknown
    subject (< 0) gives its largest score over other identities as a negative, a detection away from every
    face its largest over identities > 0. The same subject twice in an image is one probe: the first
    positive, all competitors.

    >>> box = np.array([[0.0, 0.0, 10.0, 10.0]])
    >>> labels = ListedIdentities(np.array([0]), np.array([2]), np.array([3, 5]), np.array([0.4, 0.9]))
    >>> for rank in (1, 2):
    ...     print(identification_outcomes(box, np.array([0]), np.array([3]), box, np.array([0]), labels,
    ...                                   overlap=0.5, rank=rank).probe_score)
    [-inf]
    [0.4]
    """
    labels = keep_last_label(labels)
    face_row, of_detection = best_detection(faces, face_image, boxes, box_image)
    probe_of, probe_face = _probes(face_image, subject)

    taken = np.flatnonzero((face_row >= 0) & (subject != 0))
    entry, owner = _entries(labels, face_row[taken])
    face = taken[owner]
    score, own = labels.score[entry], labels.identity[entry] == subject[face]
    known = probe_of[face] != NOBODY

    # The first face of a probe that lists its subject gives the positive; entries come in the order of faces.
    own_known = np.flatnonzero(own & known)[::-1]
    positive = np.full(len(probe_face), MISSED)
    positive[probe_of[face[own_known]]] = score[own_known]
    rivals = np.flatnonzero(~own & known)
    rivals = rivals[score[rivals] >= positive[probe_of[face[rivals]]]]
    better = np.bincount(probe_of[face[rivals]], minlength=len(probe_face))
    accepted = np.where(better < rank, positive, MISSED)

    strangers = ~own & ~known
    stranger_score = np.full(len(faces), MISSED)
    np.maximum.at(stranger_score, face[strangers], score[strangers])
    stranger = np.flatnonzero(stranger_score > MISSED)

    background = np.flatnonzero((of_detection < overlap) & (box_image >= 0))
    entry, owner = _entries(labels, background)
    named = labels.identity[entry] > 0
    background_score = np.full(len(background), MISSED)
    np.maximum.at(background_score, owner[named], labels.score[entry[named]])
    labelled = background_score > MISSED

    return Identification(
        probe_face,
        accepted,
        np.concatenate([stranger_score[stranger], background_score[labelled]]),
        np.concatenate([face_row[stranger], background[labelled]]),
        face_row,
        stranger_score,
    )


def _probes(face_image: Ints, subject: Ints) -> tuple[Ints, Ints]:
    """The probe that each known face belongs to (-1: none), and each probe's first face."""
    known = np.flatnonzero(subject > 0)
    keys = np.stack([face_image[known], subject[known]], axis=1)
    order = np.lexsort((keys[:, 1], keys[:, 0]))
    fresh = np.ones(len(known), dtype=bool)
    fresh[1:] = np.any(keys[order[1:]] != keys[order[:-1]], axis=1)
    probe_of = np.full(len(subject), NOBODY)
    probe_of[known[order]] = np.cumsum(fresh) - 1
    return probe_of, known[order[fresh]]


def _entries(labels: ListedIdentities, rows: Ints) -> tuple[Ints, Ints]:
    """Every label entry of the given rows, and which of the rows it belongs to."""
    count = labels.count[rows]
    owner = np.repeat(np.arange(len(rows)), count)
    within = np.arange(len(owner)) - np.repeat(np.cumsum(count) - count, count)
    return labels.start[rows][owner] + within, owner
