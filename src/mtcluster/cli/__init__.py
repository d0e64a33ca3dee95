"""The commands that work on files: one module each, with its options, what it does and what it says."""
