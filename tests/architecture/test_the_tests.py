"""The architecture tests can fail: each is shown a room that breaks its rule."""

from collections.abc import Callable

import pytest

from tests.architecture import test_neighbours as neighbours
from tests.architecture import test_rooms as rooms
from tests.architecture.source import Room

Check = Callable[[Room], None]

BROKEN: list[tuple[Check, str, str]] = [
    (rooms.test_pure_rooms_never_wait, "merge/x.py", "async def f(): ..."),
    (rooms.test_pure_rooms_never_wait, "merge/x.py", "async def f():\n    await g()"),
    (rooms.test_pure_rooms_touch_nothing, "merge/x.py", "moment = datetime.now(UTC)"),
    (rooms.test_pure_rooms_touch_nothing, "parse/x.py", "open('/etc/passwd')"),
    (rooms.test_pure_rooms_import_only_what_is_pure, "merge/x.py", "import socket"),
    (rooms.test_pure_rooms_import_only_what_is_pure, "merge/x.py", "import urllib.request"),
    (rooms.test_pure_rooms_import_only_what_is_pure, "schedule/x.py", "from lxml import etree"),
    (
        rooms.test_pure_rooms_import_only_what_is_pure,
        "merge/x.py",
        "from headwater.merge.store import save",
    ),
    (
        rooms.test_pure_rooms_import_only_what_is_pure,
        "merge/x.py",
        "from headwater.fetch import steps",
    ),
    (rooms.test_every_room_says_what_it_is_for, "merge/x.py", "x = 1"),
    (rooms.test_no_room_has_an_empty_name, "merge/utils.py", '"""Things."""'),
    (rooms.test_rooms_stay_small, "merge/x.py", "x = 1\n" * 401),
    (rooms.test_rooms_stay_small, "merge/x.py", "def f():\n" + "    x = 1\n" * 40),
    (rooms.test_imports_stand_at_the_top, "visit.py", "def f():\n    import json"),
    (
        rooms.test_imports_stand_at_the_top,
        "visit.py",
        "if TYPE_CHECKING:\n    from headwater.engine import Engine",
    ),
    (neighbours.test_every_library_stays_in_its_place, "fetch/steps.py", "import pycurl"),
    (neighbours.test_every_library_stays_in_its_place, "entrypoints/cli/x.py", "import httpx"),
    (neighbours.test_every_library_stays_in_its_place, "adapters/x.py", "import urllib.request"),
    (
        neighbours.test_every_library_stays_in_its_place,
        "merge/store.py",
        "from sqlalchemy import text",
    ),
    (
        neighbours.test_xml_parsers_are_made_only_where_they_are_hardened,
        "subscribe/opml.py",
        "from lxml import etree\netree.XMLParser()",
    ),
    (
        neighbours.test_xml_parsers_are_made_only_where_they_are_hardened,
        "parse/rss.py",
        "from lxml.etree import fromstring\nfromstring(body)",
    ),
    (neighbours.test_only_the_ways_in_print, "visit.py", "print('hello')"),
]


@pytest.mark.parametrize(("check", "name", "text"), BROKEN)
def test_a_broken_rule_is_noticed(check: Check, name: str, text: str) -> None:
    with pytest.raises(AssertionError):
        check(Room(name, text))


def test_an_ordinary_room_breaks_none() -> None:
    text = '"""A thing."""\n\nfrom headwater.values.ids import FeedPk\n'
    room = Room("merge/thing.py", text)
    for check in {check for check, _, _ in BROKEN}:
        check(room)
