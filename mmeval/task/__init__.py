"""Tasks: from a YAML file to the prompts and metrics of a run."""
