"""Which sources fill a category."""
