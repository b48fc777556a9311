"""Commands for shows, releases and downloads."""
