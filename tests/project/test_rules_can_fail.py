"""The architecture tests can fail: each is shown a room that breaks its rule."""

from collections.abc import Callable

import pytest

from tests.project import test_libraries, test_source
from tests.support.source_tree import Room

Check = Callable[[Room], None]

BROKEN: list[tuple[Check, str, str]] = [
    (test_source.test_pure_rooms_never_wait, "feeds/merge/x.py", "async def f(): ..."),
    (test_source.test_pure_rooms_never_wait, "feeds/merge/x.py", "async def f():\n    await g()"),
    (test_source.test_pure_rooms_touch_nothing, "feeds/merge/x.py", "moment = datetime.now(UTC)"),
    (test_source.test_pure_rooms_touch_nothing, "parse/x.py", "open('/etc/passwd')"),
    (test_source.test_pure_rooms_import_only_what_is_pure, "feeds/merge/x.py", "import socket"),
    (
        test_source.test_pure_rooms_import_only_what_is_pure,
        "feeds/merge/x.py",
        "import urllib.request",
    ),
    (
        test_source.test_pure_rooms_import_only_what_is_pure,
        "feeds/schedule/x.py",
        "from lxml import etree",
    ),
    (
        test_source.test_pure_rooms_import_only_what_is_pure,
        "feeds/merge/x.py",
        "from headwater.feeds.entries.entry_rows import save_entries as save",
    ),
    (
        test_source.test_pure_rooms_import_only_what_is_pure,
        "feeds/merge/x.py",
        "from headwater.feeds.fetch import request_feed as steps",
    ),
    (test_source.test_every_room_says_what_it_is_for, "feeds/merge/x.py", "x = 1"),
    (test_source.test_no_room_has_an_empty_name, "feeds/merge/utils.py", '"""Things."""'),
    (test_source.test_imports_stand_at_the_top, "feeds/visit.py", "def f():\n    import json"),
    (
        test_source.test_imports_stand_at_the_top,
        "feeds/visit.py",
        "if TYPE_CHECKING:\n    from headwater.core.engine import Engine",
    ),
    (
        test_libraries.test_every_library_stays_in_its_place,
        "feeds/fetch/request_feed.py",
        "import pycurl",
    ),
    (test_libraries.test_every_library_stays_in_its_place, "entrypoints/cli/x.py", "import httpx"),
    (
        test_libraries.test_every_library_stays_in_its_place,
        "adapters/x.py",
        "import urllib.request",
    ),
    (
        test_libraries.test_every_library_stays_in_its_place,
        "feeds/entries/entry_rows.py",
        "from sqlalchemy import text",
    ),
    (
        test_libraries.test_xml_parsers_are_made_only_where_they_are_hardened,
        "publish/opml.py",
        "from lxml import etree\netree.XMLParser()",
    ),
    (
        test_libraries.test_xml_parsers_are_made_only_where_they_are_hardened,
        "parse/rss.py",
        "from lxml.etree import fromstring\nfromstring(body)",
    ),
    (test_libraries.test_only_the_ways_in_print, "feeds/visit.py", "print('hello')"),
]


@pytest.mark.parametrize(("check", "name", "text"), BROKEN)
def test_a_broken_rule_is_noticed(check: Check, name: str, text: str) -> None:
    with pytest.raises(AssertionError):
        check(Room(name, text))


def test_an_ordinary_room_breaks_none() -> None:
    text = '"""A thing."""\n\nfrom headwater.core.values.ids import FeedPk\n'
    room = Room("feeds/merge/thing.py", text)
    for check in {check for check, _, _ in BROKEN}:
        check(room)
