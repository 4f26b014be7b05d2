"""The embedded population: rendered people who do not exist, with every truth about them."""

from countenance.data.people.dataset import CARD, load, read_people

__all__ = ["CARD", "load", "read_people"]
