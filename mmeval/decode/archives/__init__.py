"""Archives (tar and zip), unpacked within limits."""
