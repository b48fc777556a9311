"""The bare loop: libcurl downloads every feed and notes what came. Nothing does less than this.

Started as `python -m bench.poll.bare PASS FOLDER PORT FEEDS PARALLEL HOW`, where HOW is `documents`
(libcurl inflates what it gets, so that the text of the feed is there) or `wire` (the bytes as they
were served are counted and dropped). The validators of each pass are left in the folder,
outside the timing, for the next pass to begin with.
"""

import json
import sys
from dataclasses import dataclass, field
from pathlib import Path

import pycurl

from bench.poll import stopwatch
from bench.poll.documents import urls


@dataclass(slots=True)
class Note:
    """All that is kept of one download."""

    url: str
    etag: str | None = None
    status: int = 0
    body: bytearray = field(default_factory=bytearray)

    def header(self, line: bytes) -> None:
        if line[:5].lower() == b"etag:":
            self.etag = line[5:].strip().decode("latin-1")

    def start(self, curl: pycurl.Curl) -> None:
        self.body.clear()
        curl.setopt(pycurl.URL, self.url)
        curl.setopt(pycurl.HTTPHEADER, [] if self.etag is None else [f"If-None-Match: {self.etag}"])
        curl.setopt(pycurl.HEADERFUNCTION, self.header)
        curl.setopt(pycurl.WRITEFUNCTION, self.body.extend)

    def finish(self, curl: pycurl.Curl) -> None:
        self.status = curl.getinfo(pycurl.RESPONSE_CODE)
        self.body.clear()


def handle(inflates: bool) -> pycurl.Curl:
    curl = pycurl.Curl()
    curl.setopt(pycurl.ACCEPT_ENCODING, "gzip")
    curl.setopt(pycurl.HTTP_CONTENT_DECODING, int(inflates))
    return curl


def download(notes: list[Note], parallel: int, *, inflates: bool) -> None:
    """All of them, `parallel` at a time, each handle used again when its transfer is over."""
    multi, todo = pycurl.CurlMulti(), iter(notes)
    multi.setopt(pycurl.M_MAXCONNECTS, parallel)
    busy: dict[pycurl.Curl, Note] = {}

    def begin(curl: pycurl.Curl) -> None:
        if (note := next(todo, None)) is not None:
            note.start(curl)
            busy[curl] = note
            multi.add_handle(curl)

    for _ in range(min(parallel, len(notes))):
        begin(handle(inflates))
    while busy:
        multi.perform()
        while True:
            left, good, bad = multi.info_read()
            if bad:
                raise SystemExit(f"a download failed: {bad[0][2]}")
            for curl in good:
                busy.pop(curl).finish(curl)
                multi.remove_handle(curl)
                begin(curl)
            if not left:
                break
        multi.select(1.0)


def main() -> None:
    what, folder, port, feeds, parallel, how = sys.argv[1:]
    kept = Path(folder) / "validators.json"
    etags = {} if what == "cold" else json.loads(kept.read_text())
    notes = [Note(url, etags.get(url)) for url in urls(int(feeds), int(port))]
    stopwatch.started()
    download(notes, int(parallel), inflates=how == "documents")
    stopwatch.done()
    kept.write_text(json.dumps({note.url: note.etag for note in notes}))


if __name__ == "__main__":
    main()
