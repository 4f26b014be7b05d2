"""The five published protocols, composed of the rooms to their left."""
