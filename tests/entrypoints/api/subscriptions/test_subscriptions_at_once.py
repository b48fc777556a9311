"""A crowd that wants the same sources at the same moment: one subscription for each."""

import asyncio
from collections import Counter

from tests.support.scripted_fetchers import Registry

SOURCES = 500


def spellings(number: int) -> tuple[str, str]:
    """Two ways to write one URL: spaces, the host's case, the default port, a fragment."""
    plain = f"https://host{number % 50}.example/feed/{number}?n={number}"
    other = (
        f"  {plain}\n",
        plain.replace("host", "HOST"),
        plain.replace(".example/", ".example:443/"),
        f"{plain}#latest",
        plain.replace("https://", "HTTPS://"),
    )[number % 5]
    return plain, other


async def test_a_thousand_at_once_make_five_hundred_subscriptions(registry: Registry) -> None:
    wanted = [spelling for number in range(SOURCES) for spelling in spellings(number)]
    answers = await asyncio.gather(
        *(registry.api.post("/subscriptions", {"source_url": url}) for url in wanted)
    )
    assert Counter(each.status for each in answers) == {201: SOURCES, 409: SOURCES}
    assert {each.error for each in answers if each.status == 409} == {"duplicate_url"}
    for first, second in zip(answers[::2], answers[1::2], strict=True):
        assert {first.status, second.status} == {201, 409}
        assert first.json["subscription_id"] == second.json["subscription_id"]
    async with registry.engine.database.read() as view:
        for table in ("rss_subscriptions", "feeds", "assignment_history"):
            row = await view.row(f"SELECT count(*) AS n FROM {table}")
            assert row is not None
            assert (table, row.n) == (table, SOURCES)
        row = await view.row("SELECT count(*) AS n, max(seq) AS last FROM events")
    assert row is not None
    assert (row.n, row.last) == (SOURCES, SOURCES)


async def test_a_crowd_that_wants_back_what_was_let_go_brings_it_back_once(
    registry: Registry,
) -> None:
    made = (await registry.subscribed("https://ada.example/feed")).json
    await registry.api.delete("/subscriptions/1")
    answers = await asyncio.gather(
        *(
            registry.api.post("/subscriptions", {"source_url": "https://ada.example/feed"})
            for _ in range(20)
        )
    )
    assert Counter(each.status for each in answers) == {201: 1, 409: 19}
    (back,) = [each.json for each in answers if each.status == 201]
    assert back["subscription_id"] == made["subscription_id"]


async def test_subscribing_and_unsubscribing_at_once_end_in_one_of_both(
    registry: Registry,
) -> None:
    url = "https://ada.example/feed"
    target = "/subscriptions/https%3A%2F%2Fada.example%2Ffeed"
    await asyncio.gather(
        *(
            registry.api.post("/subscriptions", {"source_url": url})
            if turn % 2
            else registry.api.delete(target)
            for turn in range(40)
        )
    )
    (shown,) = (await registry.api.get("/subscriptions?include_inactive=true")).json[
        "subscriptions"
    ]
    feed = (await registry.api.get(f"/feeds/{shown['feed_id']}")).json
    assert feed["state"] == ("active" if shown["is_active"] else "removed")
    kinds = [kind for kind, _ in await registry.events()]
    created, deleted = kinds.count("subscription_created"), kinds.count("subscription_deleted")
    assert created - deleted == int(shown["is_active"])
