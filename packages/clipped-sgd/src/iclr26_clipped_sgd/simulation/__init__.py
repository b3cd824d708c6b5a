"""Convex test problems, many runs on them, and what the jobs leave behind."""
