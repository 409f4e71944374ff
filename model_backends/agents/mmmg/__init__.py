"""The agents of MMMG: a planner writes placeholders, and tools make the described
media."""
