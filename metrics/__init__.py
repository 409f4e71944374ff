"""The metrics, grouped by the kind of content that they measure."""
