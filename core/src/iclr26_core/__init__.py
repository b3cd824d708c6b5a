"""Discover, run, record and check installed methods."""
