"""Ways in; no decisions are made here."""
