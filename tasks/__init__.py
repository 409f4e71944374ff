"""Tasks: one folder a benchmark, with task files, its loader and bundled samples."""
