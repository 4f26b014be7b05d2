"""The formulas of the methods: HOG, kernel ridge, the two-way cut, EM over two views."""
