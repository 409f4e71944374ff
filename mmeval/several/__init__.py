"""Runs the models of a configuration file in one command."""
