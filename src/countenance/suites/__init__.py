"""The five published protocols, composed of the packages before them."""
