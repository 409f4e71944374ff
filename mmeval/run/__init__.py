"""Runs: options, jobs, generation, judging, findings and the runner."""
