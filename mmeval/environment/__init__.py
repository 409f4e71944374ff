"""Checks the installation and the machine, with one module for each subject."""
