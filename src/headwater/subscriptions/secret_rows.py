"""Credentials in the database: sealed before they come here, opened after they have left."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime

from headwater.core.errors import NotFound
from headwater.core.ports import Transaction, View
from headwater.core.values.ids import FeedPk
from headwater.core.values.instant import to_micros


@dataclass(frozen=True, slots=True)
class SealedSecret:
    """A secret that only the vault can read. `about` is the row it was sealed for."""

    about: str
    secret: bytes = field(repr=False)


def about_subscription(subscription_id: int) -> str:
    return f"subscription:{subscription_id}"


def about_group(group_id: int) -> str:
    return f"group:{group_id}"


async def list_secrets_of_feed(view: View, feed: FeedPk) -> list[SealedSecret]:
    """What a visit to this feed needs: its group's, then its own."""
    row = await view.row(
        "SELECT s.subscription_id, s.credentials AS own, s.group_id, g.credentials AS shared"
        " FROM rss_subscriptions s LEFT JOIN subscription_groups g ON g.group_id = s.group_id"
        " WHERE s.feed_id = ?",
        feed,
    )
    if row is None:
        return []
    shared = [] if row.shared is None else [SealedSecret(about_group(row.group_id), row.shared)]
    own = (
        [] if row.own is None else [SealedSecret(about_subscription(row.subscription_id), row.own)]
    )
    return [*shared, *own]


async def set_subscription_secret(
    tx: Transaction, subscription_id: int, secret: bytes | None, now: datetime
) -> None:
    """None takes them away."""
    touched = await tx.run(
        "UPDATE rss_subscriptions SET credentials = ?, updated_at = ? WHERE subscription_id = ?",
        secret,
        to_micros(now),
        subscription_id,
    )
    if not touched:
        raise NotFound("There is no such subscription.", what="subscription")


async def set_group_secret(
    tx: Transaction, group_id: int, secret: bytes | None, now: datetime
) -> None:
    """None takes them away."""
    touched = await tx.run(
        "UPDATE subscription_groups SET credentials = ?, updated_at = ? WHERE group_id = ?",
        secret,
        to_micros(now),
        group_id,
    )
    if not touched:
        raise NotFound("There is no such group.", what="group")


_PLACES = {
    "subscription": ("rss_subscriptions", "subscription_id", "credentials"),
    "group": ("subscription_groups", "group_id", "credentials"),
    "fetcher": ("fetcher_modules", "name", "signing_key"),
    "sink": ("sinks", "name", "secrets"),
}
"""What a secret is about → where it is kept: table, key and column."""


async def list_secrets_of_other_keys(
    view: View, mark: bytes, limit: int, *, after: Iterable[SealedSecret] = ()
) -> list[SealedSecret]:
    """Secrets that do not begin with this mark; with an empty one, all of them.

    So many of each kind, in the order of their rows, `after` those of earlier calls.
    """
    last = dict(_place_of(each) for each in after)
    found: list[SealedSecret] = []
    for what, (table, key, column) in _PLACES.items():
        other = f" AND substr({column}, 1, {len(mark)}) <> ?" if mark else ""
        later = f" AND {key} > ?" if what in last else ""
        rows = await view.rows(
            f"SELECT {key} AS id, {column} AS secret FROM {table}"
            f" WHERE {column} IS NOT NULL{other}{later} ORDER BY {key} LIMIT ?",
            *((mark,) if mark else ()),
            *((last[what],) if what in last else ()),
            limit,
        )
        found += [SealedSecret(f"{what}:{row.id}", row.secret) for row in rows]
    return found


async def replace_secret(tx: Transaction, old: SealedSecret, secret: bytes) -> None:
    """The same under another key, unless somebody set it anew meanwhile."""
    what, which = _place_of(old)
    table, key, column = _PLACES[what]
    await tx.run(
        f"UPDATE {table} SET {column} = ? WHERE {key} = ? AND {column} = ?",
        secret,
        which,
        old.secret,
    )


def _place_of(sealed: SealedSecret) -> tuple[str, str | int]:
    """The kind of thing a secret is about, and its key."""
    what, _, which = sealed.about.partition(":")
    _, key, _ = _PLACES[what]
    return what, which if key == "name" else int(which)
