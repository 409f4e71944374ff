"""The benchmarks' agents, and the tools that they call."""
