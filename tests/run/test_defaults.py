"""Every number that a run names: limits of what is stored, waiting times, and how much is worked on at once."""

from tests.listed_numbers import constants, defaults

STORED = {"manifest.FORMAT": 2, "record.SHARD": 256, "plan.SMALLEST": 64, "plan.LARGEST": 50_000,
          "store.MOST_ROWS": 10_000_000, "whole.MOST_VALUES": 30, "shard.LARGEST_COORDINATE": 1e7,
          "stages.MOST_NOTED": 5000}  # fmt: skip
"""What a run directory looks like: older versions read it."""

STALE = {"stale.READ": 8, "stale.PROBED": 8, "stale.EDGES": 4, "stale.RELATIVE": 1e-3, "stale.ABSOLUTE": 1e-4}
"""How much is predicted again before stored results are trusted, and how alike it must be."""

GIVING_UP = {
    "early_stop.FIRST": 10, "early_stop.LOST": 3, "early_stop.REMEMBERED": 1000, "evaluation.ATTEMPTS": 3,
    "engine.local.MOST_DEATHS": 10, "engine.ray.DEATHS": 2, "engine.ray.MOST_TROUBLE": 5, "engine.ray.PROBE_TRIES": 3,
}  # fmt: skip
"""How often something may fail before a run stops and says why."""

SECONDS = {
    "engine.cluster.REACHED": 5, "engine.ray.BEAT": 1, "engine.ray.SILENT": 60, "engine.ray.STARTING": 600,
    "engine.worker.WRITING": 300, "engine.worker.SWITCH": 0.0005, "engine.actor.LONGEST": 300,
}  # fmt: skip
"""How long is waited."""

AT_ONCE = {
    "evaluation.LONG": 10_000, "feeding.AHEAD": 2, "feeding.BUDGET": 256 * 1024**2, "store.AT_ONCE": 16,
    "whole.BLOCK": 100_000,
    "engine.decoding.ARENA": 512 * 1024**2, "engine.decoding.AT_ONCE": 2, "engine.decoding.MOST": 8,
    "engine.decoding.WAITING": 64, "engine.decoding.READ_AHEAD": 4, "engine.nvjpeg.AHEAD": 4,
    "engine.local.MOST_AT_ONCE": 8, "engine.ray.IN_FLIGHT": 2, "engine.ray.SEARCHED": 24, "engine.stream.IN_FLIGHT": 2,
    "engine.scoring.STORING": 4, "engine.settings.READERS": 6, "engine.worker.PROBED": 5,
    "engine.actor.TOLD_AT_END": 2, "engine.actor.MOST_TOLD": 20,
}  # fmt: skip
"""How much is held or done together: speed and memory, never results."""


def test_numbers_of_a_run() -> None:
    assert constants("run") == {**STORED, **STALE, **GIVING_UP, **SECONDS, **AT_ONCE}


def test_what_functions_do_when_nothing_is_said() -> None:
    found = defaults("run")
    assert found.pop("images") == {"DatasetRecord": 0, "Purged": 0, "_silent": 1}
    assert found.pop("lost") == {"Watch": 0, "Watch.saw": False}
    assert found.pop("rows") == {"Journal": 0, "Purged": 0, "RunStore.committed": True}
    assert found == {
        "batch": 8, "seed": 0, "max_failures": 0.05, "time_limit": 120.0, "workers": 1, "threads": 1, "decoders": 0,
        "gpus_per_worker": 0.0, "strict": False, "format": 2, "depth": 3, "most": 8, "parallel": 1,
        "replace": False, "hashed": True, "store": True, "headline": False, "careful": False, "blamed": True,
        "answered": 0, "failed": 0, "skipped": 0, "purged": 0, "people": 0, "number": 0, "start": 0, "low": 0,
        "deaths": 0, "good": 0, "reported": 0, "asked": 0.0, "heard": 0.0,
        "begun": False, "killed": False, "last": False, "ours": False, "over": False, "ready": False,
    }  # fmt: skip
