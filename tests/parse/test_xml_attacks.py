"""Hostile XML: entity bombs, external entities, floods, and parsers made elsewhere."""

import ast
import os
import threading
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest
from lxml import etree

from headwater.entrypoints.cli.system.machine_checks import version_checks
from headwater.entrypoints.server.service import greeting
from headwater.parse import Document, parse
from headwater.publish.opml import parse_opml
from headwater.settings import load_settings

SOURCE = Path(__file__).parents[2] / "src" / "headwater"
LAUGHS = "".join(
    f'<!ENTITY lol{level} "{"&lol" + str(level - 1) + ";" if level else "lol"}'
    f'{("&lol" + str(level - 1) + ";") * 9 if level else ""}">'
    for level in range(10)
)
ITEM = "<rss><channel><item><title>&{};</title></item></channel></rss>"


def timed(body: bytes) -> tuple[Document, float]:
    started = time.process_time()  # of our own: other work on the machine is no slowness of ours
    document = parse(body)
    return document, time.process_time() - started


def all_text(document: Document) -> str:
    return repr(document.feed) + repr(document.entries)


BOMBS: dict[str, str] = {
    "billion laughs": f"<!DOCTYPE rss [{LAUGHS}]>" + ITEM.format("lol9"),
    "quadratic": '<!DOCTYPE rss [<!ENTITY a "' + "x" * 50_000 + '">]>'
    + f"<rss><channel><title>{'&a;' * 50_000}</title></channel></rss>",
    "in an attribute": f"<!DOCTYPE rss [{LAUGHS}]><rss x='&lol9;'><channel/></rss>",
    "parameter entities": '<!DOCTYPE rss [<!ENTITY % a "%b;%b;"><!ENTITY % b "%c;">%a;]>'
    + ITEM.format("x"),
    "recursion": '<!DOCTYPE rss [<!ENTITY a "&b;"><!ENTITY b "&a;">]>' + ITEM.format("a"),
}  # fmt: skip


@pytest.mark.parametrize("body", BOMBS.values(), ids=BOMBS.keys())
@pytest.mark.parametrize("codec", ["utf-8", "utf-16", "utf-32", "utf-16-be"])
def test_entity_bombs_are_refused(body: str, codec: str) -> None:
    document, seconds = timed(body.encode(codec))
    assert document.format == "unknown"
    assert "entities_refused" in {problem.code for problem in document.problems}
    assert seconds < 0.5


@pytest.mark.parametrize(
    ("read", "document"),
    [
        (parse, '<!DOCTYPE rss SYSTEM "{}"><rss><channel/></rss>'),
        (parse, '<!DOCTYPE rss><!DOCTYPE rss SYSTEM "{}"><rss><channel/></rss>'),
        (parse_opml, '<!DOCTYPE opml SYSTEM "{}"><opml><body><outline text="a"/></body></opml>'),
    ],
    ids=["a feed", "a feed with two", "a list"],
)
def test_a_file_that_a_doctype_names_is_not_opened(
    tmp_path: Path, read: Callable[[bytes], object], document: str
) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)  # whoever opens it waits until somebody writes
    body = document.format(pipe.as_uri()).encode()
    reading = threading.Thread(target=read, args=(body,), daemon=True)
    reading.start()
    reading.join(20)
    was_opened = reading.is_alive()
    if was_opened:
        os.close(os.open(pipe, os.O_WRONLY | os.O_NONBLOCK))
        reading.join()
    assert not was_opened


def test_a_bomb_needs_little_memory() -> None:
    tracemalloc.start()
    try:
        parse(BOMBS["billion laughs"].encode())
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 5_000_000


DEFAULTS = '<!DOCTYPE rss [<!ATTLIST enclosure url CDATA "https://evil.example/x">]>'


def test_attribute_defaults_are_not_applied() -> None:
    body = DEFAULTS + "<rss><channel><item><enclosure/></item></channel></rss>"
    assert parse(body.encode()).entries[0].enclosures == ()


OUTSIDE = [
    '<!DOCTYPE rss [<!ENTITY x SYSTEM "{}">]>',
    '<!DOCTYPE rss [<!ENTITY x PUBLIC "p" "{}">]>',
    '<!DOCTYPE rss SYSTEM "{}">',
    '<!DOCTYPE rss [<!ENTITY % x SYSTEM "{}"> %x;]>',
]


@pytest.mark.parametrize("doctype", OUTSIDE)
@pytest.mark.parametrize("codec", ["utf-8", "utf-16-le", "utf-16-be", "utf-32"])
def test_nothing_outside_is_read(doctype: str, codec: str, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("PLANTED")
    body = doctype.format(secret.as_uri()) + ITEM.format("x")
    assert "PLANTED" not in all_text(parse(body.encode(codec)))


HIDDEN = [
    "<!-- <!DOCTYPE rss [<!ENTITY x 'n'>]> -->" + ITEM.format("amp"),
    "<?pi <!DOCTYPE rss?>" + ITEM.format("amp"),
    "<!-- c --><?p i?>\n<!DOCTYPE rss [<!-- ]> ' --><!ENTITY e 'v]>'>]>" + ITEM.format("amp"),
]


@pytest.mark.parametrize("body", HIDDEN)
def test_a_doctype_is_found_where_it_is_and_only_there(body: str) -> None:
    title = parse(body.encode()).entries[0].title
    assert title is not None
    assert title.value == "&"


def test_a_doctype_after_the_root_has_no_power() -> None:
    body = "<rss><!DOCTYPE r [<!ENTITY x 'BAD'>]><channel><title>&x;</title></channel></rss>"
    assert "BAD" not in all_text(parse(body.encode()))


def test_xinclude_and_stylesheets_are_ignored(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("PLANTED")
    body = (
        f"<?xml-stylesheet href='{secret.as_uri()}'?><rss "
        f"xmlns:xi='http://www.w3.org/2001/XInclude'>"
        f"<channel><item><description><xi:include href='{secret.as_uri()}' parse='text'/>"
        "</description></item></channel></rss>"
    )
    assert "PLANTED" not in all_text(parse(body.encode()))


FLOODS: dict[str, bytes] = {
    "doctypes": b"<!DOCTYPE " * 40_000,
    "doctypes before a feed": b"<!DOCTYPE x [" * 40_000 + b"<rss><channel/></rss>",
    "attributes on the root": b"<rss " + b" ".join(b"a%d='1'" % n for n in range(300_000)) + b"/>",
    "attributes in an item": b"<rss><channel><item><x "
    + b" ".join(b"a%d='1'" % n for n in range(40_000)) + b"/></item></channel></rss>",
    "prefixes": b"<rss " + b" ".join(b"xmlns:p%d='u%d'" % (n, n) for n in range(50_000))
    + b"><channel/></rss>",
    "undeclared prefixes": b"<rss><channel><item>"
    + b"".join(b"<p%d:x/>" % n for n in range(50_000)) + b"</item></channel></rss>",
    "prefixes that belong to XML itself": b"<rss "
    + b" ".join(b"xmlns:xml%d='http://www.w3.org/XML/1998/namespace'" % n for n in range(5_000))
    + b" xmlns:xml='evil' xmlns:xmlns='evil'><channel/></rss>",
    "one long processing instruction": b"<rss><?x " + b"x" * 9_000_000 + b"?><channel/></rss>",
    "one long section": b"<rss><channel><title><![CDATA[" + b"x" * 9_000_000
    + b"]]></title></channel></rss>",
    "depth": b"<rss><channel><item>" + b"<a>" * 100_000,
    "closed depth": b"<rss><channel><item>" + b"<a>" * 50_000 + b"</a>" * 50_000
    + b"</item></channel></rss>",
    "stray ends": b"<rss><channel>" + b"</x>" * 100_000 + b"</channel></rss>",
    "unclosed items": b"<rss><channel>" + b"<item><title>x" * 20_000,
    "cdata openings": b"<rss><channel>" + b"<![CDATA[" * 100_000,
    "comment openings": b"<rss><channel>" + b"<!--" * 100_000,
    "quotes": b"<rss><channel><item a=\"" + b"'\"<" * 100_000,
    "ampersands": b"<rss><channel><title>" + b"&" * 500_000 + b"</title></channel></rss>",
    "less-than signs": b"<rss><channel><title>" + b"<" * 500_000,
    "one long comment": b"<rss><!--" + b"x" * 9_000_000 + b"--><channel/></rss>",
    "one long attribute": b"<rss a='" + b"x" * 9_000_000 + b"'><channel/></rss>",
    "one long text": b"<rss><channel><item><title>" + b"x" * 9_000_000
    + b"</title></item></channel></rss>",
    "bytes of nothing": b"\xff" * 10_000_000,
    "brackets": b"[" * 1_000_000,
}  # fmt: skip


@pytest.mark.parametrize("body", FLOODS.values(), ids=FLOODS.keys())
def test_floods_are_survived_quickly(body: bytes) -> None:
    document, seconds = timed(body)
    assert len(document.entries) <= 5_000
    assert seconds < 4.0


def test_two_roots_and_html_are_no_surprise() -> None:
    assert parse(b"<rss><channel/></rss><rss><channel/></rss>").format == "rss"
    assert parse(b"<html><rss/></html>").format == "unknown"


def parser_constructors(tree: ast.AST) -> set[str]:
    """Names of everything called that makes or uses an XML parser."""
    makers = {"XMLParser", "XMLPullParser", "HTMLParser", "iterparse", "ETCompatXMLParser"}
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else ""
            name = node.func.id if isinstance(node.func, ast.Name) else name
            if name in makers or (name in ("fromstring", "XML", "HTML") and len(node.args) < 2):
                found.add(name)
    return found


def test_one_function_constructs_xml_parsers() -> None:
    elsewhere: dict[str, set[str]] = {}
    for path in SOURCE.rglob("*.py"):
        made = parser_constructors(ast.parse(path.read_text("utf-8")))
        if made:
            elsewhere[str(path.relative_to(SOURCE))] = made
    assert elsewhere == {"core/values/safe_xml.py": {"XMLParser"}}


FOREIGN = ("xml.etree", "xml.sax", "xml.dom", "pyexpat", "lxml.html", "defusedxml")


def test_no_other_xml_library_is_imported() -> None:
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            names: list[str] = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.module:
                names = [node.module]
            assert not [name for name in names if name.startswith(FOREIGN)], path


@pytest.mark.parametrize(
    ("version", "state", "warned"), [((2, 12, 9), "error", True), ((2, 13, 0), "ok", False)]
)
def test_an_old_libxml2_is_told_at_the_start_and_by_doctor(
    version: tuple[int, int, int], state: str, warned: bool, monkeypatch: pytest.MonkeyPatch
) -> None:  # 92
    monkeypatch.setattr(etree, "LIBXML_VERSION", version)
    said = list(greeting(load_settings(), "http://127.0.0.1:8470", ("serve", "work")))
    loud = "  WARNING     libxml2 2.12.9 is too old for hostile documents: 2.13 is needed"
    assert (loud in said) is warned
    assert [check.state for check in version_checks() if check.name == "libxml2"] == [state]
