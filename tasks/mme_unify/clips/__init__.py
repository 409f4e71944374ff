"""MME-Unify's metrics for clips, and the frames and features that they compare."""
