"""From flags, files and the environment to the options of a run."""
