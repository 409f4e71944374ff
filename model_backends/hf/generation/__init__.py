"""Generation: choosing tokens, and converting them to parts."""
