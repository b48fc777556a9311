"""Clean HTML of publishers by allow-lists of tags, attributes and schemes, so that it is safe."""

import re
from html import escape, unescape

import nh3

MOST_CHARACTERS = 1_048_576
MOST_TAGS = 5_000
"""The parser's time grows with the square of how deep tags are nested: so many tags cost a quarter
of a second."""

_MOST_PASSES = 4

_TAGS = frozenset(
    "a abbr article aside audio b bdi bdo blockquote br caption cite code col colgroup dd del "
    "details dfn div dl dt em figcaption figure footer h1 h2 h3 h4 h5 h6 header hr i img ins kbd "
    "li mark ol p picture pre q rp rt ruby s samp section small source span strong sub summary sup "
    "table tbody td tfoot th thead time tr u ul var video wbr".split()
)
# Schemes are checked only in some attributes: `cite`, for instance, could hold any scheme.
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
"""The contents of these elements are no text for people: they are removed with them."""

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
    """Safe, well-formed HTML of at most `most` characters. To clean it again changes nothing."""
    while True:
        cleaned = _clean_until_stable(_bounded(html, most))
        if len(cleaned) <= most:
            return cleaned
        html = html[: max(0, len(html[:most]) * most // len(cleaned) - 16)]


def html_of_text(text: str, most: int = MOST_CHARACTERS) -> str:
    """Plain text as HTML that shows the same."""
    return clean_html(escape(text, quote=False), most)


def text_of_html(html: str, most: int = MOST_CHARACTERS) -> str:
    """The text that a person would read, on one line."""
    words = unescape(_NO_TAGS.clean(_bounded(html, most)))
    return " ".join(_OUTSIDE_XML.sub("", words).split())


def without_links_to(url: str, cleaned: str) -> str:
    """Cleaned HTML without attributes that lead to this address, or to a fragment of it."""
    escaped = escape(url, quote=False)
    if escaped not in cleaned:
        return cleaned
    return re.sub(f' (?:href|src|poster)="{re.escape(escaped)}(?:#[^"]*)?"', "", cleaned)


def _bounded(html: str, most: int) -> str:
    """Cut HTML that is too long, or that has too many tags to parse it in good time."""
    html = _OUTSIDE_XML.sub("", html[:most].replace("\r\n", "\n").replace("\r", "\n"))
    for count, tag in enumerate(_START_TAG.finditer(html)):
        if count == MOST_TAGS:
            return html[: tag.start()]
    return html


def _clean_until_stable(html: str) -> str:
    """Clean until cleaning changes nothing: HTML that changes when it is parsed again is a danger.

    HTML that never becomes stable is shown as its plain text.
    """
    for _ in range(_MOST_PASSES):
        cleaned = _clean_once(html)
        if cleaned == html:
            return cleaned
        html = cleaned
    return _clean_once(escape(text_of_html(html), quote=False))


def _clean_once(html: str) -> str:
    """A parser drops the first line break of a `pre`. We drop them all at once, so that no later
    pass drops another."""
    return _BLANK_IN_PRE.sub("<pre>", _OUTSIDE_XML.sub("", _CLEANER.clean(html)))
