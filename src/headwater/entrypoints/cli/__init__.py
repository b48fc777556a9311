"""The command line: one module for each area of commands, and what all commands share."""
