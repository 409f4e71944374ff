"""Examples of task files whose numbers mean nothing: they show the plumbing."""
