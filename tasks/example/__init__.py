"""Examples of task files; their numbers mean nothing."""
