"""What a personal feed costs: unchanged, from memory, built anew, and a new item for it."""
