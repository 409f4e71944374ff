"""Reads what servers send: parts of answers, streams, and errors of all shapes."""
