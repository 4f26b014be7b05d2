"""What repeated gating does: how often a model that just misses or just keeps a limit passes, or fails, by luck.

Every gate is one test. Run often enough, on fresh data or with variant after variant on the same data, it passes what
should not pass and fails what should not fail. The decision is the product's (`countenance.gating.bounds`), on rates
with Wilson's interval; rows are independent. Usage: python benchmarks/gating.py [--trials 4000]
"""

import argparse

import numpy as np
from scipy.special import ndtri

from countenance.auditing.estimates import wilson_limits
from countenance.gating.bounds import Limits, Measurement

LIMIT, N = 0.9, 1000
TIMES = (1, 5, 20, 50)


def outcomes(counts: np.ndarray, alpha: float) -> np.ndarray:
    """pass, fail or insufficient for counts of N rows, by the product's rule (each count is decided once)."""
    values, place = np.unique(counts, return_inverse=True)
    decided = []
    for count in values:
        low, high = (float(end) for end in wilson_limits(count / N, N, ndtri(1 - alpha / 2)))
        decided.append(Measurement("m", count / N, low, high, low, high).evidence(Limits(at_least=LIMIT)))
    return np.array(decided)[place].reshape(counts.shape)


def row(label: str, found: np.ndarray, wanted: str) -> None:
    """How often at least one of the first k gates has the outcome."""
    shares = [(found[:, :k] == wanted).any(axis=1).mean() for k in TIMES]
    print(f"| {label} | " + " | ".join(f"{share:.3f}" for share in shares) + " |")


def variants(rng: np.random.Generator, trials: int, alike: float) -> np.ndarray:
    """Counts of variants of one model on the same N images; `alike` is how correlated their errors are."""
    most = max(TIMES)
    counts = np.zeros((trials, most), dtype=int)
    edge = ndtri(LIMIT)
    for trial in range(trials):
        shared = rng.standard_normal(N)
        own = rng.standard_normal((most, N))
        counts[trial] = (np.sqrt(alike) * shared + np.sqrt(1 - alike) * own < edge).sum(axis=1)
    return counts


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--trials", type=int, default=4000)
    trials = parser.parse_args().trials
    rng = np.random.default_rng(0)
    print(f"limit: at least {LIMIT}; {N:,} rows a gate; alpha .05; {trials:,} trials\n")
    print("| gates | " + " | ".join(map(str, TIMES)) + " |\n|---|" + "---:|" * len(TIMES))
    fresh = rng.binomial(N, LIMIT, size=(trials, max(TIMES)))
    at_limit = outcomes(fresh, 0.05)
    row("fresh data, model at the limit: passes at least once", at_limit, "pass")
    row("fresh data, model at the limit: fails at least once", at_limit, "fail")
    row("the same with alpha = .05 / 20: passes at least once", outcomes(fresh, 0.05 / 20), "pass")
    row(
        "fresh data, model .02 below the limit: passes at least once",
        outcomes(rng.binomial(N, LIMIT - 0.02, size=(trials, max(TIMES))), 0.05),
        "pass",
    )
    row(
        "fresh data, model .02 above the limit: fails at least once",
        outcomes(rng.binomial(N, LIMIT + 0.02, size=(trials, max(TIMES))), 0.05),
        "fail",
    )
    for alike in (0.5, 0.9):
        counts = variants(rng, max(trials // 8, 100), alike)
        row(
            f"same data, variants at the limit, errors correlated {alike:g}: one passes", outcomes(counts, 0.05), "pass"
        )
    single = {name: float((at_limit[:, 0] == name).mean()) for name in ("pass", "fail", "insufficient")}
    print("\none gate of a model at the limit: " + ", ".join(f"{name} {share:.3f}" for name, share in single.items()))


if __name__ == "__main__":
    main()
