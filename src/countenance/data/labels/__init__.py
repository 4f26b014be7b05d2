"""Labels in users' own files: a table, or an annotation tool's export, beside a folder of pictures or any dataset."""
