"""Tasks: one folder per benchmark, with its task files, its loader and the samples that come with it."""
