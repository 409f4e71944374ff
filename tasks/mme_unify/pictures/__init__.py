"""MME-Unify's metrics that compare with CLIP: pictures among candidates, and
explanations among options."""
