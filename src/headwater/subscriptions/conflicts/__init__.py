"""Conflicts: several fetchers fit one subscription; a person or the evidence decides."""
