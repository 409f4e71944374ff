"""MME-Unify's metrics with CLIP, of pictures and of explanations."""
