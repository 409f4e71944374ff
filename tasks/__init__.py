"""Tasks: one folder per benchmark, with its task files, its loader and bundled samples."""
