"""MME-Unify's metrics of clips, and the frames and features that they compare."""
