"""Settings of a run, from flags, files and the environment."""
