"""Downloads: from the wanted release to files in the library, and out of it again."""
