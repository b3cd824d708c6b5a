"""Manifolds with logarithms that are accurate at 1e-9, and adapters from other libraries."""
