"""Raw fetches: archived as they were served, and read again."""
