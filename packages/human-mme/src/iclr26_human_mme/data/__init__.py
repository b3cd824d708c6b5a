"""Questions: the official folder, what a model is shown of it, and what is wrong with it."""
