"""Download clients, one file each, all through the same bounded link."""
