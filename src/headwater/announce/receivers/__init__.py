"""Who is told of news at an address of its own, and how far it has been told."""
