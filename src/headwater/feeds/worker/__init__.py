"""The worker: claims of feeds, queues of hosts, and the loop that visits."""
