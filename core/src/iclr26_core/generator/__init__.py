"""Writes new packages: a complete method of each kind, to be changed into one's own."""
