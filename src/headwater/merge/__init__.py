"""Station 5: new, edited, moved or seen again."""
