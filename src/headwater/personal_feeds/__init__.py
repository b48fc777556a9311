"""Personal feeds: items in categories, and the documents that are made of them for each reader."""
