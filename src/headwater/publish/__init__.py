"""Publish entries again: as RSS, Atom, JSON Feed, OPML and WARC."""
