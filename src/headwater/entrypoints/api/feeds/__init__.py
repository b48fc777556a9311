"""Routes of feeds, their entries and raw bytes."""
