"""The worker's side of feeds: claims and turns of hosts."""
