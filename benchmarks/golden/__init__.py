"""A record of what the library says, of two states, and how they differ: `python -m benchmarks.golden`."""
