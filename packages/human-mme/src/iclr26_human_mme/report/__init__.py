"""The page of a run: one HTML file with everything in it."""
