"""Which sources fill some categories, and what a list of them tells."""

from datetime import UTC, datetime

import pytest

from headwater.personal_feeds import source_rows
from headwater.personal_feeds.source import CategorySource, render_sources_opml
from headwater.publish.opml import parse_opml
from tests.entrypoints.api.conftest import api as api
from tests.entrypoints.api.conftest import engine as engine
from tests.entrypoints.api.conftest import web as web
from tests.support.api_caller import Api
from tests.support.engine_parts import EngineParts

MADE = datetime(2026, 1, 5, 12, tzinfo=UTC)


def test_a_list_shows_no_secret_of_a_source() -> None:
    listed = render_sources_opml(
        [
            CategorySource(
                "https://a.example/f?api_key=s3cret", "A", "https://me:s3cret@a.example/", ("x",)
            ),
            CategorySource("https://b.example/f", None, None, ("y", "x")),
        ],
        "Sources",
        MADE,
    )
    assert b"s3cret" not in listed
    assert b"Mon, 05 Jan 2026 12:00:00 GMT" in listed
    assert [(row.url, row.categories) for row in parse_opml(listed)] == [
        ("https://a.example/f?api_key=REDACTED", ("x",)),
        ("https://b.example/f", ("y", "x")),
    ]


async def test_every_source_of_a_category_is_found_however_many_there_are(
    api: Api, engine: EngineParts, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source_rows, "_AT_ONCE", 2)
    for number, categories in enumerate((["x"], ["x*"], ["y", "x"], [], ["x"], ["X"], ["y"])):
        said = {"url": f"https://{number}.example/", "categories": categories, "visit": "later"}
        assert (await api.post("/feeds", said)).status == 201
    async with engine.database.read() as view:
        found = await source_rows.list_category_sources(view, ["x", "y"])
        assert await source_rows.list_category_sources(view, []) == []
    assert [(each.url, each.categories) for each in found] == [
        ("https://0.example/", ("x",)),
        ("https://2.example/", ("x", "y")),
        ("https://4.example/", ("x",)),
        ("https://6.example/", ("y",)),
    ]
