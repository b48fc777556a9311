"""Seal credentials of private sources, and open them for the visit that needs them."""

from headwater.core.engine import Engine
from headwater.core.errors import BadSettings, SecretUnreadable
from headwater.core.ports import Transaction
from headwater.core.telemetry.log import get_logger
from headwater.core.values.ids import FeedPk
from headwater.core.values.url import origin_of
from headwater.feeds.keyring import (
    Credentials,
    Keyring,
    bind_to_origin,
    decode_credentials,
    encode_credentials,
)
from headwater.subscriptions import secret_rows
from headwater.subscriptions.secret_rows import SealedSecret, about_group, about_subscription

logger = get_logger("unlock")

RENEWED_AT_ONCE = 1_000
"""Of each kind, in one transaction of housekeeping."""


async def open_keyring(engine: Engine, feed: FeedPk, url: str) -> Keyring:
    """What may be shown when this feed is asked; SecretUnreadable when a secret does not open.

    Read anew for every visit: credentials that were taken back are not used once more.
    """
    async with engine.database.read() as view:
        sealed = await secret_rows.list_secrets_of_feed(view, feed)
    return Keyring(origin_of(url), tuple(open_credentials(engine, each) for each in sealed))


def open_credentials(engine: Engine, sealed: SealedSecret) -> Credentials:
    return decode_credentials(engine.vault.open(sealed.secret, about=sealed.about))


def seal_for_subscription(engine: Engine, subscription_id: int, credentials: Credentials) -> bytes:
    return engine.vault.seal(
        encode_credentials(credentials), about=about_subscription(subscription_id)
    )


async def save_credentials(
    tx: Transaction, engine: Engine, subscription_id: int, url: str, given: Credentials | None
) -> None:
    """With a new subscription, in the transaction that makes it; BadInput when they do not work."""
    if given is not None:
        sealed = seal_for_subscription(engine, subscription_id, bind_to_origin(url, given))
        await secret_rows.set_subscription_secret(tx, subscription_id, sealed, engine.clock.now())


async def reseal_secrets(engine: Engine) -> int:
    """For housekeeping: what an older key sealed is sealed with the present one where it opens.

    So an operator who puts a new key before the old one can take the old one away later.
    """
    try:
        mark = engine.vault.mark()
    except BadSettings as trouble:
        logger.error("secret_key_unusable", detail=trouble.message)
        return 0
    renewed, looked_at = 0, list[SealedSecret]()
    while mark:
        async with engine.database.write() as tx:
            # What no key opens any more stays as it is; what comes after it has its turn.
            page = await secret_rows.list_secrets_of_other_keys(
                tx, mark, RENEWED_AT_ONCE, after=looked_at
            )
            for old in page:
                renewed += await _renewed(tx, engine, old)
        if not page:
            break
        looked_at += page
    return renewed


async def _renewed(tx: Transaction, engine: Engine, old: SealedSecret) -> bool:
    try:
        plain = engine.vault.open(old.secret, about=old.about)
    except SecretUnreadable as trouble:
        logger.error("secret_unreadable", about=old.about, detail=trouble.message)
        return False
    await secret_rows.replace_secret(tx, old, engine.vault.seal(plain, about=old.about))
    return True


def seal_for_group(engine: Engine, group_id: int, credentials: Credentials) -> bytes:
    return engine.vault.seal(encode_credentials(credentials), about=about_group(group_id))
