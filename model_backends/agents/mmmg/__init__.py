"""The agents of MMMG: a planner that writes placeholders, and tools that make what
these describe."""
