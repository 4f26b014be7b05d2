"""Pure functions, arrays in, arrays out: the formulas. No I/O, no classes, no state."""
