"""One module for each protocol that a family of models speaks."""
