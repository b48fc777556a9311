"""The rules of the source can fail: each is shown a module that breaks it."""

import pytest

from tests.project import test_libraries, test_source, test_sql
from tests.support.source_tree import Module, Rule, offences

BROKEN: list[tuple[Rule, str, str]] = [
    (test_source.waiting, "feeds/merge/x.py", "async def f(): ..."),
    (test_source.waiting, "feeds/merge/x.py", "async def f():\n    await g()"),
    (test_source.impure_calls, "feeds/merge/x.py", "moment = datetime.now(UTC)"),
    (test_source.impure_calls, "parse/x.py", "open('/etc/passwd')"),
    (test_source.impure_imports, "feeds/merge/x.py", "import socket"),
    (test_source.impure_imports, "feeds/merge/x.py", "import urllib.request"),
    (test_source.impure_imports, "feeds/schedule/x.py", "from lxml import etree"),
    (
        test_source.impure_imports,
        "feeds/merge/x.py",
        "from headwater.feeds.entries.entry_rows import save_entries as save",
    ),
    (
        test_source.impure_imports,
        "feeds/merge/x.py",
        "from headwater.feeds.fetch import request_feed as steps",
    ),
    (test_source.no_first_sentence, "feeds/merge/x.py", "x = 1"),
    (test_source.no_first_sentence, "feeds/merge/x.py", '"""Things and\nmore things."""'),
    (test_source.empty_names, "feeds/merge/utils.py", '"""Things."""'),
    (
        test_source.hidden_imports,
        "feeds/visit.py",
        "if TYPE_CHECKING:\n    from headwater.core.engine import EngineParts",
    ),
    (
        test_source.hidden_imports,
        "feeds/visit.py",
        "def f():\n    from headwater.core import errors",
    ),
    (
        test_source.private_names_of_others,
        "feeds/visit.py",
        "from headwater.feeds.feed_rows import _change",
    ),
    (
        test_source.private_names_of_others,
        "feeds/visit.py",
        "from headwater.feeds import feed_rows\nfeed_rows._change",
    ),
    (test_libraries.strangers, "feeds/fetch/request_feed.py", "import pycurl"),
    (test_libraries.strangers, "entrypoints/cli/x.py", "import http.client"),
    (test_libraries.strangers, "feeds/entries/entry_rows.py", "from sqlalchemy import text"),
    (test_libraries.soft_parsers, "publish/opml.py", "from lxml import etree\netree.XMLParser()"),
    (
        test_libraries.soft_parsers,
        "parse/rss.py",
        "from lxml.etree import fromstring\nfromstring(body)",
    ),
    (test_sql.statements, "feeds/visit.py", "x = 'SELECT 1'"),
    (test_sql.statements, "feeds/visit.py", "x = f'UPDATE {table} SET a = 1 WHERE b'"),
    (
        test_sql.questions,
        "feeds/visit.py",
        "async def f(tx: Transaction) -> None:\n    await tx.run(x)",
    ),
    (
        test_sql.questions,
        "feeds/visit.py",
        "async def f():\n    async with d.read() as v:\n        await v.rows(x)",
    ),
]


@pytest.mark.parametrize(("rule", "name", "text"), BROKEN)
def test_a_broken_rule_is_noticed(rule: Rule, name: str, text: str) -> None:
    assert offences(rule, [Module(name, text)]) != []


def test_an_ordinary_module_breaks_none() -> None:
    text = '"""A thing."""\n\nfrom headwater.core.values.ids import FeedPk\n'
    module = Module("feeds/merge/thing.py", text)
    for rule in {rule for rule, _, _ in BROKEN}:
        assert offences(rule, [module]) == []


def test_who_writes_a_table_is_seen() -> None:
    inserted = "x = 'INSERT INTO feeds (id) VALUES (?)'"
    assert test_sql.tables_written(Module("feeds/x_rows.py", inserted)) == {"feeds"}
    named_elsewhere = "tables = ('visits', 'other')\nx = f'DELETE FROM {table} WHERE id = ?'"
    assert test_sql.tables_written(Module("feeds/x_rows.py", named_elsewhere)) == {"visits"}
