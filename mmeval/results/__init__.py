"""Numbers of a run: from score rows to results, stored runs, layouts and comparison."""
