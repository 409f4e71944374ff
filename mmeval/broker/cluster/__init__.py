"""Other machines: what the engine ``ray`` asks of a cluster, for workers and scoring
processes alike."""
