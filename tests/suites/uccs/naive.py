"""The challenge's rules written down as slowly and plainly as possible, to hold the fast code against.

Lists and loops, one sentence of the rules after the other; nothing here is shared with the package.
"""

import math
import struct


def overlap(g, d):
    left, right = max(g[0], d[0]), min(g[0] + g[2], d[0] + d[2])
    top, bottom = max(g[1], d[1]), min(g[1] + g[3], d[1] + d[3])
    if right - left <= 0 or bottom - top <= 0:
        return 0.0
    shared = (right - left) * (bottom - top)
    return shared / (max(g[2] * g[3] / 4, shared) + d[2] * d[3] - shared)


def targets(n, log, step):
    if n == 0:
        return [0]
    if log:
        base = math.pow(10.0, 1.0 / 8.0)
        return [math.pow(base, i) for i in range(int(math.log(n, base)))] + [n]
    return [*range(0, n, step), n]


def threshold(negatives, share):
    if share >= 1 - 2.0**-52:
        return math.nextafter(min(negatives), -math.inf)
    best = None
    for v in sorted(set(negatives)):
        if sum(n >= v for n in negatives) / len(negatives) <= share:
            best = v
            break
    return math.nextafter(max(negatives), math.inf) if best is None else best


def froc(truth, found, log=False, only_present=False, limit=0.5):
    """truth: {image: [(subject, box)]}; found: {image: [(box, score, {identity: score})]}."""
    hits, alarms, faces = [], [], 0
    for image, people in truth.items():
        detections = found.get(image, [])
        if only_present and not detections:
            continue
        faces += len(people)
        for k, (box, score, _) in enumerate(detections):
            overlaps = [overlap(g, box) for _, g in people]
            if all(o < limit for o in overlaps):
                alarms.append(score)
                continue
            best = overlaps.index(max(overlaps))
            on_best = [overlap(people[best][1], other) for other, _, _ in detections]
            if any(o > on_best[k] for o in on_best) or any(o == on_best[k] for o in on_best[k + 1 :]):
                alarms.append(score)
            else:
                hits.append(score)
    points = []
    for c in targets(len(alarms), log, 1000):
        if not alarms:
            points.append((0.0, len(hits) / faces))
            continue
        t = threshold(alarms, c / len(alarms))
        if t > max(alarms):
            points.append((float(c), 0.0))
        else:
            points.append((float(sum(a >= t for a in alarms)), sum(h >= t for h in hits) / faces))
    return points


def best_box(g, detections):
    best, most = None, 0.0
    for detection in detections:
        o = overlap(g, detection[0])
        if o > most:
            best, most = detection, o
    return best


def dir_(truth, found, log=False, only_present=False, rank=1, limit=0.5):
    probes, negatives = {}, []
    for image, people in truth.items():
        detections = found.get(image, [])
        if only_present and not detections:
            continue
        for subject, g in people:
            probe = probes.setdefault((image, subject), ([], [])) if subject > 0 else None
            detection = best_box(g, detections)
            if detection is None:
                continue
            labels = detection[2]
            others = [score for identity, score in labels.items() if identity != subject]
            if subject > 0:
                if subject in labels:
                    probe[0].append(labels[subject])
                probe[1].extend(others)
            elif subject < 0 and others:
                negatives.append(max(others))
        for box, _, labels in detections:
            if all(overlap(g, box) < limit for _, g in people):
                named = [score for identity, score in labels.items() if identity > 0]
                if named:
                    negatives.append(max(named))
    points = []
    for c in targets(len(negatives), log, 50):
        t = threshold(negatives, c / len(negatives)) if negatives else -math.inf
        right = 0
        for positives, rivals in probes.values():
            if positives and sum(r >= positives[0] for r in rivals) < rank and positives[0] >= t:
                right += 1
        points.append((float(c), right / len(probes)))
    return points


def f32(value):
    return struct.unpack("f", struct.pack("f", value))[0]


def iou32(g, d):
    """Intersection over union with every step rounded to single precision."""
    gx, gy, dx, dy = f32(g[0]), f32(g[1]), f32(d[0]), f32(d[1])
    gr, gb, dr, db = f32(gx + f32(g[2])), f32(gy + f32(g[3])), f32(dx + f32(d[2])), f32(dy + f32(d[3]))
    width, height = f32(min(gr, dr) - max(gx, dx)), f32(min(gb, db) - max(gy, dy))
    shared = f32(max(width, 0.0) * max(height, 0.0))
    area_g, area_d = f32(f32(gr - gx) * f32(gb - gy)), f32(f32(dr - dx) * f32(db - dy))
    return f32(shared / f32(f32(area_g + area_d) - shared))


def assigned(people, detections, limit):
    """Pairs of face and detection, the largest overlap of all first; equal ones by face, then by detection."""
    pairs = sorted(
        (-iou32(g[2], d[0]), i, k)
        for i, g in enumerate(people)
        for k, d in enumerate(detections)
        if iou32(g[2], d[0]) >= limit
    )
    taken = {}
    for _, i, k in pairs:
        if i not in taken and k not in taken.values():
            taken[i] = k
    return taken


def per_image(truth, found, excluded, rank=None, limit=0.5):
    """truth: {image: [(face id, subject, box)]}; found: {image: [(box, score, [similarity of subject 1, 2, ...])]}."""
    positives, negatives = [], []
    everybody = [face for people in truth.values() for face in people]
    for image, people in truth.items():
        detections = found.get(image, [])
        taken = assigned(people, detections, limit)
        for k, (_, score, similar) in enumerate(detections):
            faces = [i for i, j in taken.items() if j == k]
            if faces and people[faces[0]][0] in excluded:
                continue
            if rank is None:
                (positives if faces else negatives).append(score)
            elif faces and people[faces[0]][1] > 0:
                subject = people[faces[0]][1]
                if subject <= len(similar):
                    own = similar[subject - 1]
                    rivals = [s for j, s in enumerate(similar, 1) if j != subject and s >= own]
                    if len(rivals) < rank:
                        positives.append(own)
            else:
                negatives.append(max(similar))
    total = len(everybody) if rank is None else sum(subject > 0 for _, subject, _ in everybody)
    total -= len(excluded)
    if not negatives:
        return [(0.0, len(positives) / total)]
    return [
        (sum(n >= t for n in negatives) / len(truth), sum(p >= t for p in positives) / total)
        for t in sorted(set(negatives))
    ]
