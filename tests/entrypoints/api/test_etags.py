"""Conditional GETs of our own."""

import pytest

from tests.support.api_caller import Api
from tests.support.scripted_engine import River

pytestmark = pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)


async def test_an_unchanged_answer_is_304_and_a_changed_one_is_not(api: Api, river: River) -> None:
    feed_id = await river.feed()
    for target in (f"/feeds/{feed_id}", "/feeds", "/entries", "/events", "/docs"):
        first = await api.get(target)
        assert first.headers["cache-control"] == "private, no-cache"
        again = await api.get(target, if_none_match=f'"other", W/{first.headers["etag"]}')
        assert (again.status, again.body) == (304, b"")
        assert again.headers["etag"] == first.headers["etag"]
        assert "content-length" not in again.headers
        assert again.headers["x-content-type-options"] == "nosniff"
    tag = (await api.get(f"/feeds/{feed_id}")).headers["etag"]
    await api.patch(f"/feeds/{feed_id}", {"priority": 1})
    assert (await api.get(f"/feeds/{feed_id}", if_none_match=tag)).status == 200


async def test_raw_bytes_have_a_tag_too(api: Api, river: River) -> None:
    fetch_id = await river.raw(await river.feed(), b"bytes")
    tag = (await api.get(f"/raw/{fetch_id}")).headers["etag"]
    assert (await api.get(f"/raw/{fetch_id}", if_none_match=tag)).status == 304
    assert (await api.get(f"/raw/{fetch_id}?meta=1", if_none_match=tag)).status == 200


async def test_refusals_are_never_304(api: Api) -> None:
    refused = await api.get("/feeds/nothing", if_none_match="*")
    assert refused.status == 404
    assert "etag" not in refused.headers
    assert refused.headers["cache-control"] == "no-store"


async def test_head_is_get_without_the_body(api: Api, river: River) -> None:
    target = f"/feeds/{await river.feed()}"
    whole, head = await api.get(target), await api.ask("HEAD", target)
    assert (head.status, head.body) == (200, b"")
    assert head.headers == whole.headers
