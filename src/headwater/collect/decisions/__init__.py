"""Every release that a tracking looked at, in the database."""
