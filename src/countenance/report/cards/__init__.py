"""Cards and tables for use outside a run: model card, dataset card, Croissant, Markdown, LaTeX and CSV."""

from countenance.report.cards.croissant import croissant, write_croissant
from countenance.report.cards.dataset import dataset_card
from countenance.report.cards.model import model_card
from countenance.report.cards.tables import FORMATS, CardTable, findings_table, groups_table

__all__ = [
    "FORMATS",
    "CardTable",
    "croissant",
    "dataset_card",
    "findings_table",
    "groups_table",
    "model_card",
    "write_croissant",
]
