"""Adapters: one module for the protocol of each model family."""
