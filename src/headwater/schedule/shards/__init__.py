"""Who works where: hosts are dealt to workers by shard, so that one host has one visitor."""
