"""Files of others, read and written: columns, lines, entries of JSON, arrays, label files; errors name the place."""
