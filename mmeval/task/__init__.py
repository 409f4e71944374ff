"""Tasks: from a YAML file to the questions and metrics of a run."""
