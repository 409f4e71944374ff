"""What is installed, what can run here, and what to do about the rest: one module for each thing that is looked at."""
