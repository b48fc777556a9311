"""Who may ask what, and which requests were answered already."""
