"""How often the bias bounty's intervals and rankings are right, on simulated holdouts.

40 persons with 4 pictures each and 40 non-faces with random labels, as in the embedded holdout; answers of two entries
depend on the person, half of it shared. For each kind of entry: coverage and width of the 95 % intervals, by a
percentile bootstrap and by the numerical bootstrap that `score` uses; how often two entries of equal Score₁ are
called different at .05, and how often a better one is found.

    python benchmarks/bounty_intervals.py [TRIALS]
"""

import sys

import numpy as np
from scipy.special import ndtri

from countenance.auditing._dist import both, quantile
from countenance.auditing.estimates import resampled
from countenance.auditing.ranking import effective_df, numerical_bootstrap
from countenance.suites.bias_bounty import rules as bounty

PEOPLE, SHOTS, OTHERS = 40, 4, 40
EVEN = {"skin_tone": np.full(10, 0.70), "age": np.full(4, 0.55), "gender": np.full(2, 0.75)}
MIXED = {"skin_tone": np.linspace(0.5, 0.8, 10), "age": np.array([0.4, 0.5, 0.6, 0.6]), "gender": np.array([0.7, 0.8])}
UNEVEN = EVEN | {"skin_tone": np.r_[0.15, np.full(9, 0.79)]}
BETTER = EVEN | {"skin_tone": np.full(10, 0.75)}
WORSE = EVEN | {"skin_tone": np.full(10, 0.55)}

Profile = dict[str, np.ndarray]


def holdout(profiles: list[Profile], rng: np.random.Generator) -> np.ndarray:
    """Persons × entries × sums of one simulated holdout."""
    people = np.r_[np.repeat(np.arange(PEOPLE), SHOTS), PEOPLE + np.arange(OTHERS) // SHOTS]
    face, rows = people < PEOPLE, len(people)
    truth, hard = {}, {}
    for name, classes in bounty.CLASS_COUNTS.items():
        own = np.arange(PEOPLE) % 10 if name == "skin_tone" else rng.integers(0, classes, PEOPLE)
        truth[name] = np.r_[np.repeat(own, SHOTS), rng.integers(0, classes, OTHERS)]
        hard[name] = rng.standard_normal(people.max() + 1)
    entries = []
    for profile in profiles:
        said = {}
        for name, classes in bounty.CLASS_COUNTS.items():
            luck = np.sqrt(0.5) * (hard[name][people] + rng.standard_normal(rows))
            right = (luck < ndtri(profile[name][truth[name]])) & face
            wrong = np.where(face, truth[name] + rng.integers(1, classes, rows), rng.integers(0, classes, rows))
            said[name] = np.where(right, truth[name], wrong % classes)
        entries.append(bounty.class_sums(truth, said, people))
    return np.stack(entries, axis=1)


def scores(sums: np.ndarray) -> np.ndarray:
    """Score₁ and the disparity of skin tone of every entry."""
    found = [bounty.scores_from_sums(sums[:, i])[:, [6, 3]] for i in range(sums.shape[1])]
    return np.concatenate(found, axis=1)


def main() -> int:
    trials = int(sys.argv[1]) if len(sys.argv) > 1 else 150
    rng = np.random.default_rng(0)
    df = effective_df(np.full(PEOPLE + OTHERS // SHOTS, float(SHOTS)))
    t = quantile(0.975, df)
    print(f"{trials} simulated holdouts each; coverage and mean width of 95 % intervals")
    for title, profile in (("even", EVEN), ("mixed", MIXED), ("one class fails", UNEVEN)):
        rows = []
        for trial in range(trials):
            sums = holdout([profile], rng)
            value, drawn = numerical_bootstrap(sums, scores, draws=600, seed=trial)
            half = t * drawn.std(axis=0, ddof=1)
            full = scores(resampled(sums, 600, trial).reshape(-1, *sums.shape[1:]))
            rows.append([value, value - half, value + half, *np.nanquantile(full, [0.025, 0.975], axis=0)])
        table = np.array(rows)
        centre = table[:, 0].mean(axis=0)
        for column, name in ((0, "Score1"), (1, "disparity of skin tone")):
            told = []
            for kind, low, high in (("numerical", 1, 2), ("percentile", 3, 4)):
                inside = (table[:, low, column] <= centre[column]) & (centre[column] <= table[:, high, column])
                width = (table[:, high, column] - table[:, low, column]).mean()
                told.append(f"{kind} {inside.mean():.3f} (width {width:.2f})")
            print(f"  {title:16} {name:24} {', '.join(told)}")
    print("share of pairs called different at .05: numerical bootstrap, percentile bootstrap")
    pairs = (("even, even", EVEN, EVEN), ("mixed, mixed", MIXED, MIXED), ("one class fails, twice", UNEVEN, UNEVEN))
    for title, one, two in (*pairs, ("better by 1.6 points", BETTER, WORSE)):
        called = np.zeros(2)
        for trial in range(trials):
            sums = holdout([one, two], rng)
            value, drawn = numerical_bootstrap(sums, scores, draws=600, seed=trial)
            spread = float((drawn[:, 0] - drawn[:, 2]).std(ddof=1))
            full = scores(resampled(sums, 600, trial).reshape(-1, *sums.shape[1:]))
            low, high = np.nanquantile(full[:, 0] - full[:, 2], [0.025, 0.975])
            called += [both((value[0] - value[2]) / spread, df) < 0.05, low > 0 or high < 0]
        print(f"  {title:24} {called[0] / trials:.3f}, {called[1] / trials:.3f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
