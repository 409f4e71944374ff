"""Tasks: one folder per benchmark, with task files, a loader and bundled samples."""
