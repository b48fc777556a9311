"""From a release in a feed to a named episode in a library: the pure part of it."""
