"""How much memory a document needs: the peak of a fresh process, for each document.

The process imports the parser, parses a few tiny feeds, reads the document, sets the kernel's
mark of peak resident memory back (`/proc/self/clear_refs`), parses once and reads the mark. What
the mark rose by, and the document's own bytes, are what the document needs: the tree of the C
library is in it, and so is every page that was merely touched.
"""

import json
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from bench.parse.corpus import ADDRESS, Sample
from headwater.parse import parse

STATUS = Path("/proc/self/status")
RESET = Path("/proc/self/clear_refs")
_TINY = (
    b"<rss version='2.0'><channel><title>t</title><item><title>a</title><pubDate>Mon, 05 Jan"
    b" 2004 12:00:00 GMT</pubDate><description>&lt;a href='/x'&gt;</description></item>"
    b"</channel></rss>",
    b"<feed xmlns='http://www.w3.org/2005/Atom' xml:base='/b/' xml:lang='en'><entry><title"
    b" type='html'>a &amp;lt;b</title><link href='x'/><updated>2004-01-05T12:00:00Z</updated>"
    b"<author><name>n</name><uri>u</uri></author><category term='c'/><content type='xhtml'><div"
    b" xmlns='http://www.w3.org/1999/xhtml'><p>x <a href='y'>z</a></p></div></content></entry>"
    b"</feed>",
    b"<rss xmlns:media='http://search.yahoo.com/mrss/' xmlns:itunes='http://www.itunes.com/dtds/"
    b"podcast-1.0.dtd' xmlns:dc='http://purl.org/dc/elements/1.1/'><channel><item><media:group>"
    b"<media:content url='a.jpg'/></media:group><itunes:duration>1:02</itunes:duration>"
    b"<enclosure url='x' length='1'/><dc:date>2004-01-05</dc:date><dc:creator>a@b.example (N)"
    b"</dc:creator><x:y z='1'>w</x:y></item></channel></rss>",
    b"<?xml version='1.0' encoding='iso-8859-1'?><rss><channel><item><title>caf\xe9 &nbsp; & b"
    b"</title><description><b>x</description></item><item><title>half",
    b'{"version": "https://jsonfeed.org/version/1.1", "items": [{"id": "1", "url": "/x",'
    b' "content_html": "<p>", "date_published": "2004-01-05T12:00:00Z"}]}',
)
"""What the parser makes once and keeps (tables, caches, pages of code) is not the document's."""


def can_measure() -> bool:
    return RESET.exists()


def needed(samples: Sequence[Sample]) -> dict[str, int]:
    """Bytes, by the sample's name."""
    return {sample.name: _in_fresh_process(sample.body) for sample in samples}


def _in_fresh_process(body: bytes) -> int:
    done = subprocess.run(
        [sys.executable, "-m", "bench.parse.memory"], input=body, capture_output=True, check=True
    )
    found: int = json.loads(done.stdout)["needed"]
    return found


def _kilobytes(name: str) -> int:
    match = re.search(rf"^{name}:\s+(\d+) kB", STATUS.read_text(), re.MULTILINE)
    assert match is not None
    return int(match[1])


def main() -> None:
    for tiny in _TINY:
        parse(tiny, url=ADDRESS)
    body = sys.stdin.buffer.read()
    RESET.write_text("5")
    before = _kilobytes("VmRSS")
    document = parse(body, url=ADDRESS)
    rise = max(0, _kilobytes("VmHWM") - before) * 1024
    print(json.dumps({"needed": rise + len(body), "entries": len(document.entries)}))


if __name__ == "__main__":
    main()
