"""Agents of the benchmarks, and the tools that they ask."""
