"""Check the installation and what can run here; one module for each subject."""
