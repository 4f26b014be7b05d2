"""How often a model passes by luck when its gate looks again and again at growing data.

A model exactly at its limit (at least .9) is looked at 50 times; between two looks 20 people come. Fixed intervals are
Wilson's at the same one-sided level of .025; the betting bound is `countenance.metrics.any_time`. With several rows a
person, rows are alike within people, and the units are people's means. Also: how much later a model that is better than
its limit passes. Usage: python benchmarks/any_time.py [--trials 4000]
"""

import argparse

import numpy as np

from countenance.metrics.any_time import any_time_lower_bound, log_capital, stakes_of
from countenance.metrics.intervals import student, wilson

LIMIT, ALPHA, LOOKS, PEOPLE = 0.9, 0.025, 50, 20


def people(rng: np.random.Generator, rows: int, alike: float, mean: float) -> np.ndarray:
    """Means of people with some rows each, whose rates follow a beta distribution."""
    n = LOOKS * PEOPLE
    if rows == 1:
        return (rng.random(n) < mean).astype(float)
    strength = (1 - alike) / alike
    rates = rng.beta(mean * strength, (1 - mean) * strength, n)
    return rng.binomial(rows, rates) / rows


def passes(values: np.ndarray) -> tuple[bool, bool]:
    """Whether any look passes: by intervals that count one look, and by the betting bound."""
    looks = np.arange(1, LOOKS + 1) * PEOPLE
    capital = np.maximum.accumulate(log_capital(values, stakes_of(values, ALPHA), LIMIT))[looks - 1]
    means = np.cumsum(values)[looks - 1] / looks
    if set(np.unique(values)) <= {0.0, 1.0}:
        low = wilson(means, looks, 1.96)[0]
    else:
        spread = np.sqrt(np.maximum(np.cumsum(values**2)[looks - 1] / looks - means**2, 1e-12) / (looks - 1))
        low = means - student(looks - 1) * spread
    return bool((low >= LIMIT).any()), bool((capital >= -np.log(ALPHA)).any())


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--trials", type=int, default=4000)
    trials = parser.parse_args().trials
    rng = np.random.default_rng(0)
    print(f"limit {LIMIT}; {LOOKS} looks, {PEOPLE} more people each; one-sided level {ALPHA}; {trials:,} trials\n")
    print("| a model exactly at the limit passes at least once | fixed | betting |\n|---|---:|---:|")
    for rows, alike in ((1, 0.0), (5, 0.2), (5, 0.6)):
        found = np.array([passes(people(rng, rows, alike, LIMIT)) for _ in range(trials)]).mean(axis=0)
        label = "one row a person" if rows == 1 else f"{rows} rows a person, alike by {alike:g}"
        print(f"| {label} | {found[0]:.3f} | {found[1]:.3f} |")
    print("\n| the mean lower bound of one look | rate | people | fixed | betting |\n|---|---:|---:|---:|---:|")
    for rate, n in ((0.93, 1000), (0.95, 400), (0.95, 1000), (0.98, 1000)):
        draws = [(rng.random(n) < rate).astype(float) for _ in range(100)]
        bet = np.mean([any_time_lower_bound(values, ALPHA) for values in draws])
        fixed = np.mean([wilson(values.mean(), n, 1.96)[0] for values in draws])
        print(f"| | {rate} | {n:,} | {fixed:.4f} | {bet:.4f} |")


if __name__ == "__main__":
    main()
