"""What Python, the disk and optional packages give to all of mmeval."""
