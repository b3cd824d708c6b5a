"""Models that answer, and the run that asks them: resumable, append-only."""
