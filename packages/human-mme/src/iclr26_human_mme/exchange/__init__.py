"""Other formats: results of the authors, VLMEvalKit, lmms-eval, batch files."""
