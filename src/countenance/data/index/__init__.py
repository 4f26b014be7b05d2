"""`countenance data index`: from any dataset to a manifest that a cluster can read."""

from countenance.data.index.sources import Source, index_dataset, open_source

__all__ = ["Source", "index_dataset", "open_source"]
