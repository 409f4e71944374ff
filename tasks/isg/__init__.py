"""ISG-Bench: answers of texts and pictures in a given order, scored on four levels."""
