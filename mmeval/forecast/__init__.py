"""The dry run: what a run would ask, send and cost."""
