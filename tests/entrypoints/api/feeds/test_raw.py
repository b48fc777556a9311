"""Raw fetches over HTTP: exact bytes, never anything else, and honest words when they are gone."""

from hashlib import sha256

import pytest

from headwater.feeds.raw.raw_fetch import blob_key
from tests.support.api_caller import Api
from tests.support.scripted_engine import River

HOSTILE = b"<html><script>alert(1)</script>\x00\xff\x1f\x8b"


async def test_the_bytes_come_back_exactly_and_harmlessly(api: Api, river: River) -> None:
    """Attacks 127 and 129."""
    fetch_id = await river.raw(await river.feed(), HOSTILE)
    answer = await api.get(f"/raw/{fetch_id}")
    assert (answer.status, answer.body) == (200, HOSTILE)
    assert answer.headers["content-type"] == "application/octet-stream"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["content-disposition"] == f'attachment; filename="{fetch_id}.bin"'
    assert answer.headers["content-security-policy"] == "default-src 'none'; sandbox"
    assert "content-encoding" not in answer.headers


async def test_the_record_is_told_as_it_is_defined(api: Api, river: River) -> None:
    feed_id = await river.feed()
    fetch_id = await river.raw(feed_id, HOSTILE)
    digest = sha256(HOSTILE).hexdigest()
    record = (await api.get(f"/raw/{fetch_id}?meta=1")).json
    assert record == {
        "fetch_id": fetch_id,
        "feed_id": feed_id,
        "fetched_at": "2026-01-05T12:00:00Z",
        "url": "https://a.example/feed",
        "http_status": 200,
        "request_headers": {"User-Agent": "test", "Authorization": "REDACTED"},
        "response_headers": {"Content-Type": "text/html", "Vary": "a, b"},
        "body_ref": {"storage": "localfs", "key": blob_key(digest, 0)},
        "body_sha256": digest,
        "content_type": "text/html",
        "content_length": len(HOSTILE),
        "truncated": False,
        "error": None,
        "expired_at": None,
    }


async def test_expired_raw_is_410_and_its_record_stays(api: Api, river: River) -> None:
    fetch_id = await river.raw(await river.feed(), HOSTILE)
    async with river.engine.database.write() as tx:
        await tx.run("UPDATE raw_fetches SET expired_at = ?", river.now)
    refused = await api.get(f"/raw/{fetch_id}")
    assert (refused.status, refused.error) == (410, "raw_expired")
    record = (await api.get(f"/raw/{fetch_id}?meta=1")).json
    assert record["expired_at"] == "2026-01-05T12:00:00Z"


@pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)
async def test_damaged_or_missing_bytes_are_never_served(api: Api, river: River) -> None:
    fetch_id = await river.raw(await river.feed(), HOSTILE)
    key = blob_key(sha256(HOSTILE).hexdigest(), 0)
    await river.engine.blobs.delete([key])
    refused = await api.get(f"/raw/{fetch_id}")
    assert (refused.status, refused.error) == (500, "blob_damaged")
    await river.engine.blobs.put_many([(key, HOSTILE[:-1] + b"X")])
    refused = await api.get(f"/raw/{fetch_id}")
    assert (refused.status, refused.error) == (500, "blob_damaged")
    assert b"script" not in refused.body


@pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)
async def test_ids_that_cannot_exist_are_404(api: Api) -> None:
    for name in ("x", "..%2f..%2fetc%2fpasswd", "%00", "01900000-0000-7000-9000-000000000009"):
        refused = await api.get(f"/raw/{name}")
        assert (refused.status, refused.error) == (404, "not_found")
