"""ISG-Bench: interleaved texts and pictures in a given order, scored on four levels."""
