"""One reader in a process of its own: `python -m bench.events.reader URL COUNT`.

Reads the log from its beginning with the client as shipped, and checks that every number comes
exactly once, in order, under an id of its own.
"""

import json
import sys
import time

from headwater.client import Client


def main() -> None:
    url, count = sys.argv[1], int(sys.argv[2])
    print(json.dumps({"started": time.monotonic()}), flush=True)
    ids: set[str] = set()
    expected, began = 1, 0.0
    for event in Client(url).events("beginning"):
        if expected == 1:
            began = time.monotonic()
        if event.seq != expected:
            raise SystemExit(f"number {event.seq} came where {expected} was due")
        ids.add(event.id)
        if expected == count:
            break
        expected += 1
    seconds = time.monotonic() - began
    if len(ids) != count:
        raise SystemExit(f"{count} events came under {len(ids)} ids")
    said = {"events": count, "seconds": seconds, "cpu": time.process_time()}
    print(json.dumps(said), flush=True)


if __name__ == "__main__":
    main()
