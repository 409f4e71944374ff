"""What a run needs that is not here yet: data sets and weights are fetched at their revisions, then checked."""
