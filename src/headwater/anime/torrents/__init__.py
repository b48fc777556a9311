"""Torrent files, magnets and the sites that list them."""
