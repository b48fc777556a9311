"""The console: a page for operators in a browser."""
