"""Downloads as the API shows them, and what people may ask of them there."""

from pathlib import Path

import pytest

from headwater.entrypoints.api.app import create_app
from headwater.settings import Settings
from tests.support.api_caller import Api
from tests.support.download_world import Yard
from tests.support.torrents import made

BODY = bytes(range(256)) * 200
FIRST = made("[Good] Show - 01.mkv", BODY)
BETTER = made("[Best] Show - 01.mkv", BODY[3:] + BODY[:3])
BEST = "Show (2025)/Season 01/Show - S01E01 [Best].mkv"


@pytest.fixture
def api(yard: Yard, tmp_path: Path) -> Api:
    return Api(create_app(yard.engine.services, Settings(data_dir=tmp_path)))


async def test_a_download_is_shown_with_its_files_and_what_it_replaced(
    yard: Yard, api: Api
) -> None:
    old = await yard.collect("[Good] Show - 01", FIRST)
    new = await yard.collect("[Best] Show - 01", BETTER)
    shown = (await api.get(f"/downloads/{new.id}")).json
    assert (shown["state"], shown["progress"], shown["title"]) == ("done", 1.0, "[Best] Show - 01")
    assert [file["path"] for file in shown["files"]] == [BEST]
    assert shown["replaces"][0]["download_id"] == old.id
    listed = (await api.get("/downloads?state=retired&state=failed")).json
    assert [each["id"] for each in listed["downloads"]] == [old.id]
    assert "127.0.7" not in (await api.get(f"/downloads/{new.id}")).body.decode()


async def test_pages_follow_each_other(yard: Yard, api: Api) -> None:
    one = await yard.offer("[Good] Show - 01", FIRST)
    two = await yard.offer("[Best] Show - 01", BETTER)
    page = (await api.get("/downloads?limit=1")).json
    assert [each["id"] for each in page["downloads"]] == [two.id]
    rest = (await api.get(f"/downloads?limit=1&cursor={page['next_cursor']}")).json
    assert ([each["id"] for each in rest["downloads"]], rest["next_cursor"]) == ([one.id], None)


async def test_dropping_twice_with_one_key_is_dropping_once(yard: Yard, api: Api) -> None:
    download = await yard.collect("[Good] Show - 01", FIRST)
    key = {"idempotency_key": "drop-it"}
    first = await api.post(f"/downloads/{download.id}/drop", {}, **key)
    assert (first.status, first.json["state"]) == (200, "retiring")
    assert (await api.post(f"/downloads/{download.id}/drop", {}, **key)).body == first.body
    await yard.turn(2)
    assert (await api.get(f"/downloads/{download.id}")).json["state"] == "dropped"


async def test_what_cannot_be_is_refused(yard: Yard, api: Api) -> None:
    download = await yard.collect("[Good] Show - 01", FIRST)
    assert (await api.post(f"/downloads/{download.id}/retry", {})).status == 409
    for path in ("/downloads/99", "/downloads/x", "/downloads/-1"):
        assert (await api.get(path)).error == "not_found"
    assert (await api.get("/downloads?state=lost")).status == 422


async def test_one_wish_to_retry_sent_twice_wakes_it_once(yard: Yard, api: Api) -> None:
    download = await yard.offer("[Good] Show - 01", FIRST)
    target = f"/downloads/{download.id}/retry"
    first = await api.post(target, {}, idempotency_key="k")
    assert (first.status, first.json["state"]) == (200, "intended")
    await yard.turn(2)
    again = await api.post(target, {}, idempotency_key="k")
    assert (again.status, again.body) == (200, first.body)
    assert again.headers["idempotent-replayed"] == "true"
    other = await api.post(f"/downloads/{download.id}/drop", {}, idempotency_key="k")
    assert (other.status, other.error) == (422, "idempotency_mismatch")
