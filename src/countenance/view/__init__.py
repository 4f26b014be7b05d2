"""The viewer: a local web application that reads runs, computes with the audit itself and draws with the report.

The rules that keep it closed are files of their own: `token.py` (who may ask), `network.py` (from where), `policy.py`
(what a page may do), `scope.py` (which files can be reached), `privacy.py` (whose pictures are shown).
"""
