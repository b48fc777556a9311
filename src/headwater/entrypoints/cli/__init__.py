"""The command line way in."""
