"""One module for each model family's protocol."""
