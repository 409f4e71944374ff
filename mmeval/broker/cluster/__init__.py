"""The Ray cluster of a run, for its workers and scoring processes."""
