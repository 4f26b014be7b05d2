"""Rendering of people who do not exist: the specification, the bodies, the light, and the exact truth.

Importing this package needs numpy only; rendering needs the extra `countenance[render]` (mitsuba and anny).
"""

from __future__ import annotations

from countenance.data.people.render.engine import collect, render, render_specs
from countenance.data.people.render.sampling import PictureSpec, portraits, shipped_set

__all__ = ["PictureSpec", "collect", "portraits", "render", "render_specs", "shipped_set"]
