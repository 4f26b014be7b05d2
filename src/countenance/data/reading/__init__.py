"""Reads and writes common files: columns, lines, entries of JSON, arrays, label files; errors name the place."""
