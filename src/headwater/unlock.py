"""Credentials of private sources: sealed on their way in, opened for the visit that needs them."""

from headwater.engine import Engine
from headwater.errors import BadSettings, SecretUnreadable
from headwater.ports import Transaction
from headwater.subscribe.credentials import (
    Credentials,
    Keyring,
    as_json,
    bound_to,
    from_json,
)
from headwater.subscribe.secrets import store
from headwater.subscribe.secrets.store import Sealed, about_group, about_subscription
from headwater.telemetry.log import logger
from headwater.values.ids import FeedPk
from headwater.values.url import origin_of

log = logger("unlock")

RENEWED_AT_ONCE = 1_000
"""Of each kind, in one transaction of housekeeping."""


async def keyring_of(engine: Engine, feed: FeedPk, url: str) -> Keyring:
    """What may be shown when this feed is asked; SecretUnreadable when a secret does not open.

    Read anew for every visit: credentials that were taken back are not used once more.
    """
    async with engine.database.read() as view:
        sealed = await store.sealed_for(view, feed)
    return Keyring(origin_of(url), tuple(opened(engine, each) for each in sealed))


def opened(engine: Engine, sealed: Sealed) -> Credentials:
    return from_json(engine.vault.open(sealed.secret, about=sealed.about))


def sealed_for_subscription(
    engine: Engine, subscription_id: int, credentials: Credentials
) -> bytes:
    return engine.vault.seal(as_json(credentials), about=about_subscription(subscription_id))


async def keep_credentials(
    tx: Transaction, engine: Engine, subscription_id: int, url: str, given: Credentials | None
) -> None:
    """With a new subscription, in the transaction that makes it; BadInput when they do not work."""
    if given is not None:
        sealed = sealed_for_subscription(engine, subscription_id, bound_to(url, given))
        await store.keep_for_subscription(tx, subscription_id, sealed, engine.clock.now())


async def renew_seals(engine: Engine) -> int:
    """For housekeeping: what an older key sealed is sealed with the present one where it opens.

    So an operator who puts a new key before the old one can take the old one away later.
    """
    try:
        mark = engine.vault.mark()
    except BadSettings as trouble:
        log.error("secret_key_unusable", detail=trouble.message)
        return 0
    renewed, looked_at = 0, list[Sealed]()
    while mark:
        async with engine.database.write() as tx:
            # What no key opens any more stays as it is; what comes after it has its turn.
            page = await store.sealed_otherwise(tx, mark, RENEWED_AT_ONCE, after=looked_at)
            for old in page:
                renewed += await _renewed(tx, engine, old)
        if not page:
            break
        looked_at += page
    return renewed


async def _renewed(tx: Transaction, engine: Engine, old: Sealed) -> bool:
    try:
        plain = engine.vault.open(old.secret, about=old.about)
    except SecretUnreadable as trouble:
        log.error("secret_unreadable", about=old.about, detail=trouble.message)
        return False
    await store.renew(tx, old, engine.vault.seal(plain, about=old.about))
    return True


def sealed_for_group(engine: Engine, group_id: int, credentials: Credentials) -> bytes:
    return engine.vault.seal(as_json(credentials), about=about_group(group_id))
