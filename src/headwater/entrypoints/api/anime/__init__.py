"""Routes of shows, trackings, releases and downloads."""
