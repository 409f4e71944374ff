"""A run: its options, jobs, generation, judging, findings and the runner."""
