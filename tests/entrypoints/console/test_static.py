"""The console's own files: small, alone, and with no way to make text into anything that runs."""

import re

import pytest

from headwater.entrypoints.console.pages import FILES
from headwater.events.event import EVENT_TYPES
from headwater.feeds.feed import STATES
from headwater.feeds.metrics import OUTCOMES
from tests.support.docs_pages import rows

TEXTS = {name: body.decode() for name, (_, body) in FILES.items()}
MODULES = {name: text for name, text in TEXTS.items() if name.endswith(".js")}

LARGEST, LONGEST = 65_000, 200

RUNS_TEXT = re.compile(
    r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|createContextualFragment|srcdoc"
    r"|setHTML|DOMParser|\beval\b|new Function|\bimport\(|javascript:|Worker\("
    r"|set(?:Timeout|Interval)\(\s*[\"'`]"
    r"|\bon[a-z]+\s*[=:]\s*[\"'`(]|\bstyle\s*[=:]|setAttribute\(\s*[\"']on"
)


@pytest.mark.parametrize("name", TEXTS)
def test_nothing_in_it_makes_text_run(name: str) -> None:
    text = TEXTS[name] if not name.endswith(".css") else ""
    assert [found[0] for found in RUNS_TEXT.finditer(text)] == []


@pytest.mark.parametrize(
    "line",
    [
        "box.innerHTML = title;",
        "box.outerHTML = title;",
        'box.insertAdjacentHTML("beforeend", title);',
        "document.write(title);",
        "eval(title);",
        'setTimeout("alert(1)", 5);',
        '<a onclick="go()">',
        '<p style="color: red">',
        'el("a", { onclick: "go()" });',
        "await import(title);",
    ],
)
def test_the_look_for_it_can_find_it(line: str) -> None:
    assert RUNS_TEXT.search(line)


def test_everything_it_needs_is_its_own() -> None:
    """No address of anybody else, beside the names of standards and examples."""
    known = ("http://www.w3.org/2000/svg", "https://example.org/feed.xml")
    for name, text in TEXTS.items():
        addresses = re.findall(r"https?://[\w.-]+[^\s\"'`<>)]*", text)
        assert [each for each in addresses if each not in known] == [], name


def test_every_file_is_used_and_every_file_used_is_there() -> None:
    page = TEXTS["index.html"]
    used, looked_at = set(re.findall(r"console/([\w.-]+)", page)), {"index.html"}
    while waiting := used - looked_at:
        name = waiting.pop()
        looked_at.add(name)
        used |= set(re.findall(r'from "\./([\w.-]+)"', TEXTS[name]))
    assert looked_at == FILES.keys()


def test_it_stays_small() -> None:
    assert sum(len(body) for _, body in FILES.values()) <= LARGEST
    assert {name: n for name, text in TEXTS.items() if (n := text.count("\n")) > LONGEST} == {}


@pytest.mark.parametrize("name", MODULES)
def test_every_module_says_what_it_is_for(name: str) -> None:
    assert MODULES[name].startswith("// ")


def test_the_page_has_no_script_or_style_of_its_own() -> None:
    page = TEXTS["index.html"]
    assert re.findall(r"<script([^>]*)>([^<]*)<", page) == [
        (' type="module" src="console/main.js"', "")
    ]
    assert "<style" not in page


def keys_of(name: str) -> set[str]:
    (body,) = re.findall(rf"const {name} = {{\n(.*?)\n}};", TEXTS["words.js"], re.DOTALL)
    return set(re.findall(r"^  (\w+):", body, re.MULTILINE))


def test_its_words_are_those_of_the_engine() -> None:
    assert keys_of("OUTCOMES") == set(OUTCOMES)
    assert keys_of("EVENTS") == EVENT_TYPES.keys()
    (states,) = re.findall(r"const STATES = \[(.*?)\]", TEXTS["words.js"])
    assert re.findall(r'"(\w+)"', states) == list(STATES)


def test_an_error_means_there_what_the_docs_say() -> None:
    documented = {
        code: cells[0]
        for code, cells in rows("docs/operations.md").items()
        if cells[-1] in ("theirs", "ours", "network")
    }
    assert len(documented) >= 40
    (body,) = re.findall(r"const MEANINGS = {\n(.*?)\n};", TEXTS["words.js"], re.DOTALL)
    said = dict(re.findall(r'^  (\w+): "(.*)",$', body, re.MULTILINE))
    assert said == documented
