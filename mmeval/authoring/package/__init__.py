"""What a built wheel holds, and what is missing from it."""
