"""The "can handle" question to a fetcher, and its answer: read strictly, as from a stranger."""

from typing import Any

import orjson

from headwater.subscriptions.fetchers.ports import FetcherAnswer

MOST_BYTES = 64 * 1024

_FIELDS = frozenset({"can_handle", "fetcher_id", "priority"})
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
        answer = orjson.loads(body)
    except orjson.JSONDecodeError as trouble:
        code = "too_deep" if _TOO_DEEP in str(trouble).lower() else "bad_json"
        return FetcherAnswer("silent", code, f"Its answer is not JSON we read: {trouble}")
    return _fetcher_answer_from(answer)


def _fetcher_answer_from(answer: Any) -> FetcherAnswer:
    """`fetcher_id` and `priority` may be there and are ignored: our own values of both count."""
    if not isinstance(answer, dict):
        return FetcherAnswer("silent", "bad_answer", "Its answer is not an object.")
    if unknown := sorted(set(answer) - _FIELDS):
        return FetcherAnswer(
            "silent", "bad_answer", f"Its answer has an unknown field: {unknown[0][:100]}"
        )
    can_handle = answer.get("can_handle")
    if not isinstance(can_handle, bool):
        return FetcherAnswer("silent", "bad_answer", "can_handle is neither true nor false.")
    return FetcherAnswer("yes", "yes") if can_handle else FetcherAnswer("no", "no")
