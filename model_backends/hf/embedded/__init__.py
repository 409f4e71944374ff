"""The embedded model ``tiny`` and its builder."""
