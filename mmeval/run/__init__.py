"""A run: options, jobs, generation, judging, losses and the runner."""
