"""One file for each kind of dataset that `load_dataset` reads."""
