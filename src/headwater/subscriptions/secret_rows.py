"""Secrets in the database, always sealed: they are sealed and opened elsewhere."""

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
    """The secrets that a visit to this feed needs: its group's, then its own."""
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
    """None removes the credentials."""
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
    """None removes the credentials."""
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
"""Kind of thing that has a secret → where it is stored: table, key and column."""


async def list_secrets_of_other_keys(
    view: View, mark: bytes, limit: int, *, after: Iterable[SealedSecret] = ()
) -> list[SealedSecret]:
    """Secrets that do not begin with this mark; with an empty mark, all of them.

    At most `limit` of each kind, in the order of their rows, `after` those of earlier calls.
    """
    last = dict(_place_of(each) for each in after)
    secrets: list[SealedSecret] = []
    for kind, (table, key, column) in _PLACES.items():
        other = f" AND substr({column}, 1, {len(mark)}) <> ?" if mark else ""
        later = f" AND {key} > ?" if kind in last else ""
        rows = await view.rows(
            f"SELECT {key} AS id, {column} AS secret FROM {table}"
            f" WHERE {column} IS NOT NULL{other}{later} ORDER BY {key} LIMIT ?",
            *((mark,) if mark else ()),
            *((last[kind],) if kind in last else ()),
            limit,
        )
        secrets += [SealedSecret(f"{kind}:{row.id}", row.secret) for row in rows]
    return secrets


async def replace_secret(tx: Transaction, old: SealedSecret, secret: bytes) -> None:
    """Replace a secret by itself sealed with another key, unless it was set anew meanwhile."""
    kind, row_key = _place_of(old)
    table, key, column = _PLACES[kind]
    await tx.run(
        f"UPDATE {table} SET {column} = ? WHERE {key} = ? AND {column} = ?",
        secret,
        row_key,
        old.secret,
    )


def _place_of(sealed: SealedSecret) -> tuple[str, str | int]:
    """The kind of thing a secret is about, and its key."""
    kind, _, row_key = sealed.about.partition(":")
    _, key, _ = _PLACES[kind]
    return kind, row_key if key == "name" else int(row_key)
