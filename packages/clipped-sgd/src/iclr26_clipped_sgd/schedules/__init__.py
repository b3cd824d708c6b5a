"""Step sizes and clipping levels, tabulated before the run."""
