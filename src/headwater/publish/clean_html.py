"""HTML of strangers made safe to hand on: an allow-list of tags, attributes and schemes."""

import re
from html import escape, unescape

import nh3

MOST_CHARACTERS = 1_048_576
MOST_TAGS = 5_000
"""Reading takes the square of how deep tags are nested: this many cost a quarter of a second."""

_MOST_PASSES = 4

_TAGS = frozenset(
    "a abbr article aside audio b bdi bdo blockquote br caption cite code col colgroup dd del "
    "details dfn div dl dt em figcaption figure footer h1 h2 h3 h4 h5 h6 header hr i img ins kbd "
    "li mark ol p picture pre q rp rt ruby s samp section small source span strong sub summary sup "
    "table tbody td tfoot th thead time tr u ul var video wbr".split()
)
# An address outside these lists would not be looked at: `cite`, for instance, may hold any scheme.
_ATTRIBUTES: dict[str, set[str]] = {
    "*": {"title", "lang", "dir"},
    "a": {"href", "hreflang"},
    "audio": {"src", "controls"},
    "col": {"span"},
    "colgroup": {"span"},
    "del": {"datetime"},
    "img": {"src", "alt", "width", "height"},
    "ins": {"datetime"},
    "li": {"value"},
    "ol": {"start", "reversed"},
    "source": {"src", "type"},
    "td": {"colspan", "rowspan"},
    "th": {"colspan", "rowspan", "scope"},
    "time": {"datetime"},
    "video": {"src", "poster", "controls", "width", "height"},
}
_EMPTIED = frozenset({"script", "style", "template", "noscript", "iframe", "object", "textarea"})
"""What stands in these is no text for people: it goes with them."""

_START_TAG = re.compile(r"<[A-Za-z]")
_BLANK_IN_PRE = re.compile(r"<pre>\n+")
_OUTSIDE_XML = re.compile("[^\t\n\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

_CLEANER = nh3.Cleaner(
    tags=set(_TAGS),
    clean_content_tags=set(_EMPTIED),
    attributes=_ATTRIBUTES,
    url_schemes={"http", "https"},
    url_relative="deny",
    link_rel="noopener noreferrer nofollow",
    strip_comments=True,
)
_NO_TAGS = nh3.Cleaner(tags=set(), clean_content_tags=set(_EMPTIED))


def clean_html(html: str, most: int = MOST_CHARACTERS) -> str:
    """Safe, whole, at most `most` characters, and the same again when cleaned again."""
    given = html
    while True:
        cleaned = _steady(_bounded(given, most))
        if len(cleaned) <= most:
            return cleaned
        given = given[: max(0, len(given[:most]) * most // len(cleaned) - 16)]


def html_of_text(text: str, most: int = MOST_CHARACTERS) -> str:
    """Plain text as HTML that shows the same."""
    return clean_html(escape(text, quote=False), most)


def text_of_html(html: str, most: int = MOST_CHARACTERS) -> str:
    """What a person would read of it, on one line."""
    words = unescape(_NO_TAGS.clean(_bounded(html, most)))
    return " ".join(_OUTSIDE_XML.sub("", words).split())


def without_links_to(url: str, cleaned: str) -> str:
    """Cleaned HTML in which no attribute leads to this address, or to a place in it."""
    written = escape(url, quote=False)
    if written not in cleaned:
        return cleaned
    return re.sub(f' (?:href|src|poster)="{re.escape(written)}(?:#[^"]*)?"', "", cleaned)


def _bounded(html: str, most: int) -> str:
    """Cut where it is too long, or where there are too many tags to read it in good time."""
    given = _OUTSIDE_XML.sub("", html[:most].replace("\r\n", "\n").replace("\r", "\n"))
    for count, tag in enumerate(_START_TAG.finditer(given)):
        if count == MOST_TAGS:
            return given[: tag.start()]
    return given


def _steady(html: str) -> str:
    """Cleaned until cleaning changes nothing: what moves when it is read again is a danger.

    What never comes to rest is shown as the text it holds.
    """
    for _ in range(_MOST_PASSES):
        cleaned = _once(html)
        if cleaned == html:
            return cleaned
        html = cleaned
    return _once(escape(text_of_html(html), quote=False))


def _once(html: str) -> str:
    """A parser drops the first line break of a `pre`: one that stays would be dropped later."""
    return _BLANK_IN_PRE.sub("<pre>", _OUTSIDE_XML.sub("", _CLEANER.clean(html)))
