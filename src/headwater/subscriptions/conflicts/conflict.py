"""A conflict: several fetchers are equally fit for one subscription, so somebody decides."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from headwater.core.errors import AlreadyResolved, InvalidFetcher
from headwater.core.values.ids import FetcherId

ConflictStatus = Literal["unresolved", "resolved"]

MULTI_FETCHER_MATCH = "multi_fetcher_match"
"""Several fetchers of the same priority can handle the source."""

SUBSCRIPTION_DELETED = "subscription_deleted"
"""A conflict was closed without a choice because its subscription was deleted."""


@dataclass(frozen=True, slots=True)
class Conflict:
    """`resolution` holds `resolved_fetcher_id`, `resolved_at`, `resolution_reason`, `resolved_by`.

    `candidate_names` has the candidates that are registered, by their ids.
    """

    id: int
    subscription_id: int
    source_url: str
    type: str
    candidates: tuple[FetcherId, ...]
    reason: str
    status: ConflictStatus
    resolution: dict[str, Any] | None
    resolved_at: datetime | None
    created_at: datetime
    updated_at: datetime
    candidate_names: Mapping[FetcherId, str]

    @property
    def chosen(self) -> FetcherId | None:
        """The chosen fetcher; None while it is open, and when it was closed without a choice."""
        return self.resolution["resolved_fetcher_id"] if self.resolution else None


def is_new_choice(conflict: Conflict, fetcher_id: FetcherId) -> bool:
    """True while the choice is open; False when the same choice was made before."""
    if fetcher_id not in conflict.candidates:
        raise InvalidFetcher(
            f"Fetcher {fetcher_id} is not a candidate for this conflict",
            conflict_id=conflict.id,
            candidates=list(conflict.candidates),
        )
    if conflict.status == "unresolved":
        return True
    if conflict.chosen == fetcher_id:
        return False
    raise AlreadyResolved(
        "This conflict was resolved before, with another choice.",
        conflict_id=conflict.id,
        resolved_fetcher_id=conflict.chosen,
        candidates=list(conflict.candidates),
    )
