"""An event: a fact about a feed, with its type and its payload. Lists all types of events.

An event names its feed by id. The feed's URL goes along for people, without the secrets in it:
a private feed's key was not given to the programs that read events.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

EVENT_TYPES: Mapping[str, str] = {
    "new_entry": "an entry was seen for the first time",
    "updated_entry": "an entry we know says something else now",
    "feed_moved": "a feed has a new address, after its permanent redirect proved stable",
    "feed_gone": "a feed's server said 410 often enough: we stopped visiting it",
    "feed_failing": "visits to a feed keep failing",
    "feed_recovered": "a failing feed works again",
    "subscription_created": "a source is wanted from now on, and somebody fetches it",
    "subscription_changed": "what is wanted of a source has changed",
    "subscription_assigned": "somebody else fetches a source from now on",
    "subscription_deleted": "a source is not wanted any more",
    "conflict_opened": "several fetchers are equally fit for a source: somebody is to decide",
    "conflict_resolved": "a conflict was decided, or its source is not wanted any more",
    "release_found": "a release is wanted, and will be downloaded",
    "release_held": "a release waits for a person to decide",
    "release_downloaded": "a release is in the library",
    "release_upgraded": "a better release took the place of another in the library",
    "release_failed": "a release could not be downloaded, and was given up",
    "episode_missing": "a later episode is there, and this one is not",
}


class Event(NamedTuple):
    """A fact about a feed. Consumers get `payload`."""

    type: str
    feed_id: str | None
    payload: Mapping[str, Any]
