"""What a run is made of never changes; only what works one off does."""

from tests.frozen import unfrozen

import countenance.run


def test_only_engines_and_what_collects_change():
    changing = unfrozen(countenance.run, without=("engine.",))
    assert changing <= {"FedBatch", "FedGroup", "ShardResult", "Watch", "WholeRun"}
