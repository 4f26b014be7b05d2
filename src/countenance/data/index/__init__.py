"""`countenance data index`: from any dataset to a manifest that a cluster can read."""

from countenance.data.index.sources import SampleSource, index_dataset, open_source

__all__ = ["SampleSource", "index_dataset", "open_source"]
