"""Seal credentials of private sources, and open them for the visit that needs them."""

from dataclasses import dataclass

from headwater.core.errors import BadSettings, SecretUnreadable
from headwater.core.ports import Database, Transaction, Vault
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
"""Secrets of each kind that one transaction of housekeeping seals again."""


@dataclass(frozen=True, slots=True)
class SealedKeyrings:
    """The keyrings of feeds, from the sealed secrets of their subscriptions and groups."""

    database: Database
    vault: Vault

    async def open(self, feed: FeedPk, url: str) -> Keyring:
        """The keyring of a feed.

        It is read for every visit, so that removed credentials are not used once more.
        """
        async with self.database.read() as view:
            sealed = await secret_rows.list_secrets_of_feed(view, feed)
        return Keyring(
            origin_of(url), tuple(open_credentials(self.vault, secret) for secret in sealed)
        )


def open_credentials(vault: Vault, sealed: SealedSecret) -> Credentials:
    return decode_credentials(vault.open(sealed.secret, about=sealed.about))


def seal_for_subscription(vault: Vault, subscription_id: int, credentials: Credentials) -> bytes:
    return vault.seal(encode_credentials(credentials), about=about_subscription(subscription_id))


async def save_credentials(
    tx: Transaction, vault: Vault, subscription_id: int, url: str, credentials: Credentials | None
) -> None:
    """Save a new subscription's credentials in its transaction; BadInput when they cannot be
    used."""
    if credentials is not None:
        sealed = seal_for_subscription(vault, subscription_id, bind_to_origin(url, credentials))
        await secret_rows.set_subscription_secret(tx, subscription_id, sealed, tx.now)


async def reseal_secrets(database: Database, vault: Vault) -> int:
    """Seal with the present key what an older key sealed, where it opens; for housekeeping.

    So an operator who puts a new key before the old one can take the old one away later.
    """
    try:
        mark = vault.mark()
    except BadSettings as trouble:
        logger.error("secret_key_unusable", detail=trouble.message)
        return 0
    resealed, seen = 0, list[SealedSecret]()
    while mark:
        async with database.write() as tx:
            # A secret that no key opens stays as it is; those after it have their turn.
            page = await secret_rows.list_secrets_of_other_keys(
                tx, mark, RENEWED_AT_ONCE, after=seen
            )
            for old in page:
                resealed += await _reseal(tx, vault, old)
        if not page:
            break
        seen += page
    return resealed


async def _reseal(tx: Transaction, vault: Vault, old: SealedSecret) -> bool:
    try:
        plain = vault.open(old.secret, about=old.about)
    except SecretUnreadable as trouble:
        logger.error("secret_unreadable", about=old.about, detail=trouble.message)
        return False
    await secret_rows.replace_secret(tx, old, vault.seal(plain, about=old.about))
    return True


def seal_for_group(vault: Vault, group_id: int, credentials: Credentials) -> bytes:
    return vault.seal(encode_credentials(credentials), about=about_group(group_id))
