"""The targets and the loss of a mask detector cell by cell, in plain Python: slow, and easy to read."""

import math

CELLS, STRIDE = 20, 8


def targets(boxes, masked):
    """The six maps as nested lists: `[map][row][column]`."""
    made = [[[0.0] * CELLS for _ in range(CELLS)] for _ in range(6)]
    at = [4 + 8 * k for k in range(CELLS)]
    largest_first = sorted(range(len(boxes)), key=lambda i: -(boxes[i][2] - boxes[i][0]) * (boxes[i][3] - boxes[i][1]))
    for i in largest_first:
        x0, y0, x1, y1 = boxes[i]
        w, h, cx, cy = x1 - x0, y1 - y0, (x0 + x1) / 2, (y0 + y1) / 2
        nearest_x = min(range(CELLS), key=lambda k: abs(at[k] - cx))
        nearest_y = min(range(CELLS), key=lambda k: abs(at[k] - cy))
        for row in range(CELLS):
            for column in range(CELLS):
                away_x, away_y = abs(at[column] - cx), abs(at[row] - cy)
                free = made[0][row][column] == 0
                if w < 7 or h < 7:
                    if free and away_x < w / 2 and away_y < h / 2:
                        made[0][row][column] = -1.0
                elif (away_x <= 0.22 * w and away_y <= 0.22 * h) or (row, column) == (nearest_y, nearest_x):
                    for number, value in enumerate((1.0, masked[i], x0, y0, x1, y1)):
                        made[number][row][column] = value
                elif free and away_x <= 1.8 * 0.22 * w and away_y <= 1.8 * 0.22 * h:
                    made[0][row][column] = -1.0
    return made


def loss(outputs, wanted):
    """Total, and the parts of faces, masks and boxes."""
    faces, count, masks, boxes = 0.0, 0, [], []
    for output, truth in zip(outputs, wanted, strict=True):
        for row in range(CELLS):
            for column in range(CELLS):
                said = [one[row][column] for one in output]
                want = [one[row][column] for one in truth]
                share = 1 / (1 + math.exp(-said[0]))
                if want[0] == 0:
                    faces += 0.6 * share**2 * -math.log(1 - share)
                if want[0] != 1:
                    continue
                faces += 0.4 * (1 - share) ** 2 * -math.log(share)
                count += 1
                if want[1] >= 0:
                    judged = 1 / (1 + math.exp(-said[1]))
                    masks.append(-math.log(judged if want[1] == 1 else 1 - judged))
                boxes.append(1 - generalised_overlap(decoded(said[2:], row, column), want[2:]))
    parts = [faces / max(count, 1), sum(masks) / max(len(masks), 1), sum(boxes) / max(len(boxes), 1)]
    return 2 * parts[0] + parts[1] + 1.5 * parts[2], parts


def decoded(said, row, column):
    """The box that a cell means: log-distances in strides, of at most four."""
    x, y = 4 + 8 * column, 4 + 8 * row
    left, top, right, bottom = (8 * math.exp(min(one, 4)) for one in said)
    return x - left, y - top, x + right, y + bottom


def generalised_overlap(one, two):
    """Rezatofighi's: the overlap, less the share of the hull that neither box covers."""
    areas = [(box[2] - box[0]) * (box[3] - box[1]) for box in (one, two)]
    across = max(0.0, min(one[2], two[2]) - max(one[0], two[0]))
    down = max(0.0, min(one[3], two[3]) - max(one[1], two[1]))
    union = sum(areas) - across * down
    hull = (max(one[2], two[2]) - min(one[0], two[0])) * (max(one[3], two[3]) - min(one[1], two[1]))
    return across * down / union - (hull - union) / hull
