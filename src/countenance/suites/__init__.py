"""The five published protocols, built from the other packages."""
