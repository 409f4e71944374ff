"""MME-Unify's metrics for pictures and explanations, which use CLIP."""
