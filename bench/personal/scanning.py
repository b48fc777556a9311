"""The other design on the same Valkey: no index, every read looks through all keys with SCAN.

The same keys (`rss:user:{id}:categories`, `rss:category:{category}:{guid}`), and what can be done
with them alone: for each category scan for its pattern, sort by guid, fetch the newest, then merge
and write RSS.
"""

import json
import re
from email.utils import formatdate
from typing import Any
from xml.sax.saxutils import escape

COUNT = 100
"""Keys in one SCAN."""


class Scanning:
    def __init__(self, redis: Any) -> None:
        self._redis = redis

    async def feed(self, categories: list[str], limit: int) -> bytes:
        """What one reader gets."""
        found: list[dict[str, Any]] = []
        for category in categories:
            found += await self._newest(category, limit * 2)
        found.sort(key=lambda item: str(item["guid"]), reverse=True)
        return _rss(found[:limit])

    async def _newest(self, category: str, limit: int) -> list[dict[str, Any]]:
        pattern = f"rss:category:{_literal(category)}:*"
        keys = [key async for key in self._redis.scan_iter(match=pattern, count=COUNT)]
        if not keys:
            return []
        keys.sort(key=lambda key: key.rsplit(b":", 1)[-1], reverse=True)
        values = await self._redis.mget(keys[:limit])
        return [json.loads(value) for value in values if value]


def _literal(category: str) -> str:
    return re.sub(r"([*?\[\]\\])", r"\\\1", category)


def _rss(items: list[dict[str, Any]]) -> bytes:
    written = "".join(
        f"<item><title>{escape(item['title'])}</title>"
        f"<description>{escape(item['description'])}</description>"
        f"<link>{escape(item['link'])}</link><pubDate>{escape(str(item['pub_date']))}</pubDate>"
        f"<guid>{escape(item['guid'])}</guid></item>"
        for item in items
    )
    return (
        '<?xml version="1.0" encoding="UTF-8"?><rss version="2.0"><channel><title>Personal</title>'
        f"<description>Personal</description><lastBuildDate>{formatdate()}</lastBuildDate>"
        f"{written}</channel></rss>"
    ).encode()
