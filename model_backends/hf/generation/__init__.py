"""Generation: how tokens are chosen, and how they become parts."""
