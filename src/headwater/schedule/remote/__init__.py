"""The part of the calendar that registered fetchers work off themselves."""
