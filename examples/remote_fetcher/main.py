"""A fetcher for plain text lists: one link per line, with its title after a space.

Headwater reads RSS, Atom and JSON Feed by itself; this teaches it one thing more.
"""

import argparse
import logging
import signal
import urllib.error
import urllib.request
from pathlib import Path

from headwater.sdk.fetcher import About, Entries, Failed, Fetcher, Question, Result, Unchanged, Work


def can_handle(question: Question) -> bool:
    return question.source_type == "links"


def visit(work: Work) -> Result:
    # Headwater follows http and https alone; no other scheme ever comes here.
    request = urllib.request.Request(work.source_url, headers=dict(work.headers))  # noqa: S310
    if work.etag:
        request.add_header("If-None-Match", work.etag)
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:  # noqa: S310
            text, etag = answer.read(1_000_000).decode("utf-8", "replace"), answer.headers["ETag"]
    except urllib.error.HTTPError as refusal:
        with refusal:
            return Unchanged() if refusal.code == 304 else Failed(status=refusal.code)
    except OSError as trouble:
        return Failed(str(trouble), code="network_error")
    links = [line.split(maxsplit=1) for line in text.splitlines() if line.startswith("http")]
    items = [{"id": link[0], "url": link[0], "title": link[-1]} for link in links]
    return Entries(items, title=work.config.get("title"), etag=etag)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--headwater", default="http://127.0.0.1:8470", help="its address")
    options.add_argument("--port", type=int, default=9101, help="where this fetcher listens")
    options.add_argument("--state", type=Path, default=None, help="a file to keep its token in")
    options.add_argument("--lease", type=float, default=30.0, help="seconds; renewed by itself")
    given = options.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    fetcher = Fetcher(
        "links",
        can_handle,
        visit,
        headwater=given.headwater,
        listen=("127.0.0.1", given.port),
        state=given.state,
        lease_seconds=given.lease,
        about=About(
            description="Plain text lists of links.",
            config_schema={"type": "object", "properties": {"title": {"type": "string"}}},
        ),
    )
    signal.signal(signal.SIGTERM, lambda *_: fetcher.stop())
    signal.signal(signal.SIGINT, lambda *_: fetcher.stop())
    fetcher.run()


if __name__ == "__main__":
    main()
