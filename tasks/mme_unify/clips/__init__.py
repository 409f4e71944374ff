"""MME-Unify's metrics of clips, with the frames and features that they compare."""
