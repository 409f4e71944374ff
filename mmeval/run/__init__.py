"""A run: options, jobs, generation, judging, complaints and the runner."""
