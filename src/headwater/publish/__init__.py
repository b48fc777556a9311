"""What goes out again as a feed or an archive: the same items, in every format readers know."""
