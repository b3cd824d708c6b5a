"""Clipped SGD."""
