"""Whether a server would lose what it is given: for the doctor."""

from headwater.adapters.personal_redis.link import Link
from headwater.errors import Refused


async def trouble_of(link: Link) -> str | None:
    """None when all is well; else what is wrong, in words."""
    found = [await _on_disk(link), await _eviction(link), await _cluster(link)]
    return " ".join(filter(None, found)) or None


async def _on_disk(link: Link) -> str | None:
    facts = await link.facts("persistence")
    if facts.get("aof_enabled"):
        return None
    try:
        said = await link.ask("CONFIG", "GET", "save")
    except Refused:  # a hosted server may keep its settings to itself
        return "It has no append-only file, and does not say whether it writes snapshots."
    if said and said[1]:
        return None
    return (
        "It keeps nothing on disk: neither an append-only file (appendonly yes) nor snapshots"
        " (save) are on, so a restart loses readers, tokens and items."
    )


async def _eviction(link: Link) -> str | None:
    facts = await link.facts("memory")
    policy = str(facts.get("maxmemory_policy", "noeviction"))
    if not facts.get("maxmemory") or policy == "noeviction":
        return None
    return (
        f"It throws keys away when its memory is full (maxmemory-policy {policy}):"
        " set noeviction, or give it no limit."
    )


async def _cluster(link: Link) -> str | None:
    facts = await link.facts("cluster")
    if not facts.get("cluster_enabled"):
        return None
    return "It is a Redis Cluster, on which personal feeds do not work: use a single server."
