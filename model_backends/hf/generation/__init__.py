"""Generation: chooses tokens, and turns them into parts."""
