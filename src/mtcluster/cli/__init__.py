"""The command line: one module per command, with its options, what it does and what it prints."""
