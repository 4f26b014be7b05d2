"""Labels as people have them: a table (or an annotation tool's export) beside a folder of pictures or any dataset."""

from countenance.data.labels.attach import attach_labels
from countenance.data.labels.build import read_pictures, read_utk_names
from countenance.data.labels.files import read_label_file
from countenance.data.labels.rows import LabelTable

__all__ = ["LabelTable", "attach_labels", "read_label_file", "read_pictures", "read_utk_names"]
