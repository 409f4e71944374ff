"""Tasks: from a YAML file to what a run asks and scores."""
