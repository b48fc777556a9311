"""A fetcher's answer to "can you handle this?", read strictly: it comes from a stranger."""

from typing import Any

import orjson

from headwater.subscriptions.fetchers.ports import FetcherAnswer

MOST_BYTES = 64 * 1024

_KNOWN = frozenset({"can_handle", "fetcher_id", "priority"})
_TOO_DEEP = "depth limit"


def encode_can_handle(source_url: str, source_type: str) -> bytes:
    return orjson.dumps({"source_url": source_url, "source_type": source_type})


def parse_can_handle_answer(status: int, body: bytes) -> FetcherAnswer:
    """Only a plain `{"can_handle": true}` with a 200 is a yes."""
    if status == 204:
        return FetcherAnswer("no", "no_content")
    if status != 200:
        return FetcherAnswer("silent", f"http_{status}", f"It answered with status {status}.")
    if len(body) > MOST_BYTES:
        return FetcherAnswer("silent", "body_too_large", f"More than {MOST_BYTES} bytes came.")
    try:
        said = orjson.loads(body)
    except orjson.JSONDecodeError as trouble:
        code = "too_deep" if _TOO_DEEP in str(trouble).lower() else "bad_json"
        return FetcherAnswer("silent", code, f"Its answer is not JSON we read: {trouble}")
    return _answer_from(said)


def _answer_from(said: Any) -> FetcherAnswer:
    """`fetcher_id` and `priority` may be there; we know both better than the fetcher does."""
    if not isinstance(said, dict):
        return FetcherAnswer("silent", "bad_answer", "Its answer is not an object.")
    if strangers := sorted(set(said) - _KNOWN):
        return FetcherAnswer(
            "silent", "bad_answer", f"Its answer has an unknown field: {strangers[0][:100]}"
        )
    can_handle = said.get("can_handle")
    if not isinstance(can_handle, bool):
        return FetcherAnswer("silent", "bad_answer", "can_handle is neither true nor false.")
    return FetcherAnswer("yes", "yes") if can_handle else FetcherAnswer("no", "no")
