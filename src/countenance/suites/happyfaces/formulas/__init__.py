"""The formulas that methods are made of: HOG, kernel ridge, the two-way cut, EM over two views."""
