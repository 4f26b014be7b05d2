"""The reader of `fhibe:` under the name that it had in versions that are installed already."""

from countenance.suites.fhibe.dataset import load as load
