"""The command line: one module for each area of commands, and modules that all share."""
