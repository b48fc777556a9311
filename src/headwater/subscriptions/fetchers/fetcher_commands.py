"""Commands of fetchers: a service joins as a fetcher, and operators change one."""

from dataclasses import dataclass, field, replace
from datetime import datetime

from headwater.auth.token_rows import insert_token, revoke_token
from headwater.auth.tokens import Credential, token_hash
from headwater.core.errors import ConflictError, Forbidden, NameTaken
from headwater.core.idempotency_rows import set_key_resource
from headwater.core.ports import Database, Transaction, Vault
from headwater.core.telemetry.log import get_logger
from headwater.core.values.ids import FetcherId
from headwater.core.values.instant import to_micros
from headwater.core.values.keep import KEEP
from headwater.core.values.signature import secret_of
from headwater.feeds.services import FeedServices
from headwater.subscriptions.fetchers import fetcher_rows, receiver_rows
from headwater.subscriptions.fetchers.address import about_fetcher, check_base_url
from headwater.subscriptions.fetchers.config_schema import check_config_schema
from headwater.subscriptions.fetchers.fetcher import Fetcher, FetcherPatch, Registration
from headwater.subscriptions.fetchers.fetcher_rows import FetcherOwner
from headwater.subscriptions.services import RegistryServices
from headwater.web.address_gate import check_url

join_logger = get_logger("joining")
logger = get_logger("assigning")


@dataclass(frozen=True, slots=True)
class NewFetcherKeys:
    """New secrets for a fetcher, in case it gets some."""

    token: str = field(repr=False)
    signing_key: bytes = field(repr=False)

    @property
    def shown(self) -> dict[str, str]:
        """The secrets as the fetcher gets them, once."""
        return {"token": self.token, "signing_key": secret_of(self.signing_key)}


@dataclass(frozen=True, slots=True)
class JoinRules:
    """The rules for joining: how many fetchers there may be, and whether they wait for an admin."""

    most: int
    start_disabled: bool


@dataclass(frozen=True, slots=True)
class JoinResult:
    """A fetcher that joined or registered again. `has_keys`: the new secrets are in force."""

    fetcher: Fetcher
    is_new: bool
    has_keys: bool


async def register_fetcher(
    registration: Registration,
    services: RegistryServices,
    credential: Credential,
    keys: NewFetcherKeys,
    rules: JoinRules,
    *,
    rotate: bool = False,
    idempotency: bytes | None = None,
) -> JoinResult:
    """Insert the fetcher, or update it when the credential owns its name."""
    checked = replace(
        registration,
        base_url=_check_reachable(registration.base_url, services.feeds),
        config_schema=check_config_schema(registration.config_schema),
    )
    while True:
        try:
            async with services.database.write() as tx:
                update = _RegistrationUpdate(tx, services.vault, credential, keys, rules)
                joined = await update.run(checked, rotate=rotate)
                if idempotency is not None:
                    await set_key_resource(tx, idempotency, str(joined.fetcher.id))
        except _NameJustTaken:
            continue
        except NameTaken:
            join_logger.warning("name_taken", fetcher_name=checked.name, by=credential.name)
            raise
        break
    join_logger.info(
        "fetcher_joined" if joined.is_new else "fetcher_registered_again",
        fetcher=joined.fetcher.id,
        fetcher_name=joined.fetcher.name,
        new_keys=joined.has_keys,
        by=credential.name,
    )
    return joined


async def change_fetcher(
    fetcher_id: FetcherId, patch: FetcherPatch, services: RegistryServices, who: str
) -> Fetcher:
    """Change a fetcher as an operator decides."""
    async with services.database.write() as tx:
        fetcher = await fetcher_rows.get_fetcher(tx, fetcher_id)
        if patch.base_url is not KEEP and not fetcher.is_builtin:
            patch = replace(patch, base_url=_check_reachable(patch.base_url, services.feeds))
        changed = await fetcher_rows.update_fetcher(tx, fetcher_id, patch, tx.now)
    join_logger.info(
        "fetcher_changed",
        fetcher=changed.id,
        is_enabled=changed.is_enabled,
        priority=changed.priority,
        by=who,
    )
    return changed


async def note_heartbeat(
    fetcher_id: FetcherId, database: Database, *, idempotency: bytes | None = None
) -> tuple[Fetcher, datetime]:
    """The fetcher as it was before, and the moment at which it was seen."""
    now = database.clock.now()
    async with database.write() as tx:
        fetcher = await fetcher_rows.get_fetcher(tx, fetcher_id)
        await fetcher_rows.set_last_seen(tx, fetcher_id, now)
        if idempotency is not None:
            await set_key_resource(tx, idempotency, str(to_micros(now)))
    return fetcher, now


class _NameJustTaken(Exception):
    """Somebody else registered this name between our read and our write."""


@dataclass(frozen=True, slots=True)
class _RegistrationUpdate:
    tx: Transaction
    vault: Vault
    credential: Credential
    keys: NewFetcherKeys
    rules: JoinRules

    async def run(self, registration: Registration, *, rotate: bool) -> JoinResult:
        known = await self._find_fetcher(registration.name)
        owner = None if known is None else await fetcher_rows.get_owner(self.tx, known.id)
        registered_by = self._decide_owner(known, owner)
        has_keys = owner is None or owner.token_id is None or rotate
        token_id, sealed = await self._insert_keys(registration.name) if has_keys else (None, None)
        fetcher, is_new = await fetcher_rows.upsert_fetcher(
            self.tx,
            registration,
            registered_by=registered_by,
            token_id=token_id,
            signing_key=sealed,
            now=self.tx.now,
            is_enabled=not self.rules.start_disabled,
            may_move=True,
        )
        if known is None and not is_new:
            raise _NameJustTaken
        if registration.wants_news and (known is None or not known.wants_news):
            await receiver_rows.start_news(self.tx, fetcher.id)
        if has_keys and owner is not None and owner.token_id is not None:
            await revoke_token(self.tx, owner.token_id, self.tx.now)
        return JoinResult(fetcher, is_new, has_keys)

    async def _find_fetcher(self, name: str) -> Fetcher | None:
        fetchers = await fetcher_rows.list_fetchers(self.tx)
        fetcher = next((each for each in fetchers if each.name == name), None)
        joined = sum(not each.is_builtin for each in fetchers)
        if fetcher is None and joined >= self.rules.most:
            raise ConflictError(
                f"There are {joined} registered fetchers already, and no more may join.",
                max_fetchers=self.rules.most,
            )
        return fetcher

    def _decide_owner(self, known: Fetcher | None, owner: FetcherOwner | None) -> str:
        """The name that registers it. A fetcher's own token and admins act for the first one."""
        own = self.credential.fetcher_id
        if self.credential.scope == "fetcher" and (known is None or own != known.id):
            if known is not None:
                raise NameTaken("Another fetcher has this name.", name=known.name)
            raise Forbidden("A fetcher's own token speaks for that fetcher alone.")
        acts_for_owner = self.credential.is_admin or own is not None
        if owner is not None and owner.registered_by is not None and acts_for_owner:
            return owner.registered_by
        return self.credential.name

    async def _insert_keys(self, name: str) -> tuple[int, bytes]:
        token = await insert_token(
            self.tx, f"fetcher {name}", "fetcher", token_hash(self.keys.token), self.tx.now
        )
        about = about_fetcher(name)
        return token.id, self.vault.seal(self.keys.signing_key, about=about)


def _check_reachable(base_url: str, services: FeedServices) -> str:
    """Host names are resolved at each request; addresses that are plainly wrong are refused now."""
    checked = check_base_url(base_url)
    check_url(checked, services.fetcher.policy.address)
    return checked


async def add_builtin_fetchers(services: RegistryServices) -> None:
    """Insert rows for fetchers that came with installed packages; done when a service starts."""
    async with services.database.read() as view:
        if await fetcher_rows.has_all_builtins(view, services.builtins):
            return
    async with services.database.write() as tx:
        for builtin in services.builtins:
            try:
                await fetcher_rows.insert_missing_builtins(tx, (builtin,), tx.now)
            except NameTaken as taken:  # a plug-in must not stop the start
                logger.warning("fetcher_left_out", name=builtin.name, detail=taken.message)
