"""Tables with a known truth, for `calibration.py`: people with several rows, rates and scores of many shapes."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtr, ndtri

Rng = np.random.Generator
Table = dict[str, np.ndarray]
ICC = 0.3


def sizes(rng: Rng, people: int, kind: str) -> np.ndarray:
    """Rows of each person: a number, `lognormal`, `pareto`, or `mild` (1 to 7)."""
    if kind == "lognormal":
        return np.maximum(1, np.rint(rng.lognormal(1.5, 1.0, people))).astype(int)
    if kind == "pareto":
        return np.minimum(np.maximum(1, np.rint((rng.pareto(1.5, people) + 1) * 2)), 500).astype(int)
    if kind == "mild":
        return rng.integers(1, 8, people)
    return np.full(people, int(kind))


def own_rates(rng: Rng, p: np.ndarray, icc: float = ICC) -> np.ndarray:
    """Each person's own rate, drawn around p so that rows of one person correlate by icc."""
    if icc <= 0:
        return p
    both = 1 / icc - 1
    return rng.beta(np.maximum(p * both, 1e-9), np.maximum((1 - p) * both, 1e-9))


def scores(rng: Rng, kind: str, person: np.ndarray, icc: float = 0.4) -> np.ndarray:
    """Scores of one shape; rows of one person share a normal variable before it is transformed."""
    rows = rng.normal(size=len(person))
    shared = rng.normal(size=int(person.max()) + 1)[person]
    alone = len(np.unique(person)) == len(person)
    x = rows if alone else np.sqrt(icc) * shared + np.sqrt(1 - icc) * rows
    if kind == "normal":
        return x
    if kind == "5% zeros":
        return np.where(ndtr(x) < 0.05, 0.0, 0.8 + 0.05 * rng.normal(size=len(x)))
    if kind == "95% zeros":
        return np.where(ndtr(x) < 0.95, 0.0, 0.2)
    if kind == "lognormal":
        return np.exp(x)
    raise ValueError(kind)


def labels(rng: Rng, people: int, groups: int) -> np.ndarray:
    """A group for each person, about equally often."""
    return np.array([f"g{i}" for i in range(groups)])[rng.integers(0, groups, people)]


def fair_rates(
    rng: Rng,
    *,
    people: int = 600,
    p: float = 0.9,
    rows: str = "10",
    groups: tuple[int, ...] = (4, 4, 4),
    icc: float = ICC,
    informative: bool = False,
    within: int = 0,
    metrics: int = 1,
) -> Table:
    """Rates without a true difference: attributes of the person, and `within` of the row."""
    n = sizes(rng, people, rows)
    rate = np.full(people, p)
    if informative:  # who has more rows does worse, in every group alike
        rate = np.clip(p + 0.08 * (np.argsort(np.argsort(-n)) / people - 0.5), 0.01, 0.999)
    person = np.repeat(np.arange(people), n)
    table: Table = {"identity": person}
    for i, count in enumerate(groups):
        table[f"a{i}"] = labels(rng, people, count)[person]
    for i in range(within):
        table[f"w{i}"] = labels(rng, len(person), 2)
    for i in range(metrics):
        own = own_rates(rng, rate, icc if n.max() > 1 else 0.0)
        table[f"m{i}"] = (rng.random(len(person)) < own[person]).astype(float)
    return table


def fair_scores(
    rng: Rng, kind: str, *, people: int = 600, rows: str = "1", groups: tuple[int, ...] = (4, 4), small: int = 0
) -> Table:
    """Scores without a true difference; `small`: one more group of so few people."""
    person = np.repeat(np.arange(people), sizes(rng, people, rows))
    table: Table = {"identity": person, "m0": scores(rng, kind, person)}
    for i, count in enumerate(groups):
        table[f"a{i}"] = labels(rng, people, count)[person]
    if small:
        table["few"] = np.where(person < small, "few", "many")
    return table


def unlike_variances(rng: Rng, *, few: int, many: int, ratio: float, rows: int = 1) -> Table:
    """Equal means; the small group's standard deviation is `ratio` times that of the large one."""
    person = np.repeat(np.arange(few + many), rows)
    here = person < few
    return {
        "identity": person,
        "few": np.where(here, "few", "many"),
        "m0": scores(rng, "normal", person) * np.where(here, ratio, 1.0),
    }


def scenes(
    rng: Rng, *, people: int = 200, images: int = 60, per_image: int = 10, p: float = 0.9, of: str = "scene"
) -> Table:
    """People in several pictures with others: rows share a person and a picture. The attribute is of either."""
    image = np.repeat(np.arange(images), per_image)
    person = np.concatenate([rng.choice(people, per_image, replace=False) for _ in range(images)])
    x = np.sqrt(0.3) * rng.normal(size=people)[person] + np.sqrt(0.3) * rng.normal(size=images)[image]
    right = (x + np.sqrt(0.4) * rng.normal(size=len(image)) < ndtri(p)).astype(float)
    group = labels(rng, images, 3)[image] if of == "scene" else labels(rng, people, 3)[person]
    return {"identity": person, "sample": image, "a0": group, "m0": right}


def two_groups(
    rng: Rng,
    *,
    people: tuple[int, int],
    p: tuple[float, float],
    rows: str = "10",
    icc: float = ICC,
    within: bool = False,
) -> Table:
    """Two groups with their rates; `within`: every person has half of the rows in either."""
    if within:
        count = people[0]
        each = int(rows)
        person = np.repeat(np.arange(count), each)
        first = np.tile(np.arange(each) < each // 2, count)
        base = own_rates(rng, np.full(count, p[1]), icc)[person]
        rate = np.where(first, np.clip(base * p[0] / p[1], 0, 1), base)
    else:
        count = sum(people)
        person = np.repeat(np.arange(count), sizes(rng, count, rows))
        first = person < people[0]
        own = own_rates(rng, np.repeat(np.array(p, dtype=float), people), 0.0 if rows == "1" else icc)
        rate = own[person]
    return {"identity": person, "g": np.where(first, "a", "b"), "m0": (rng.random(len(person)) < rate).astype(float)}


def twins(rng: Rng, *, people: int, pairs: int = 1, p: float = 0.9, gap: float = 0.0, score: bool = False) -> Table:
    """The same pictures under two conditions, `pairs` of each person; the second condition is lower by `gap`."""
    person = np.repeat(np.arange(people), pairs)
    twin = np.arange(len(person))
    if score:
        base = rng.normal(size=people)[person] + rng.normal(size=len(person))
        one = base + rng.normal(0, 0.5, len(person)) * rng.lognormal(0, 0.5, len(person))
        two = base - gap
    else:
        own = own_rates(rng, np.full(people, p), 0.4)[person]
        one = (rng.random(len(person)) < own).astype(float)
        two = (rng.random(len(person)) < np.clip(own * (p - gap) / p, 0, 1)).astype(float)
    return {
        "identity": np.r_[person, person],
        "twin": np.r_[twin, twin],
        "m0": np.r_[one, two],
        "c": np.repeat(["a", "b"], len(person)),
    }
