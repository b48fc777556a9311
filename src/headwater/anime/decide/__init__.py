"""Decide which releases a tracking takes, and keep every decision with its reason."""
