"""Feasible sets, their linear minimisation oracles, and which of them are strongly convex."""
