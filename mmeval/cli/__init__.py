"""Command line: one module for each verb."""
