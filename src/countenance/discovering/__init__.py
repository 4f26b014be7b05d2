"""Groups that nobody labelled: searched for on one half of the people, confirmed on the other.

>>> from countenance.discovering import discover
>>> rows = {"hat": (["yes"] + ["no"] * 7) * 400, "person_id": [i // 8 for i in range(3200)],
...         "found": ([0] + [1] * 7) * 200 + [1] * 1600}
>>> discovered = discover(rows, "found", better="higher")
>>> discovered.slices[0].description, discovered.slices[0].confirmed
('hat = yes', True)
"""

from countenance.discovering.discovery import Discovered, Slice, discover, discover_run

__all__ = ["Discovered", "Slice", "discover", "discover_run"]
