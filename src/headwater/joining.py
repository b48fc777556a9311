"""How a service joins as a fetcher: its name, its own token, its key; and what operators change."""

from dataclasses import dataclass, field, replace
from datetime import datetime

from headwater.access.store import add_token, remember_resource, revoke_token
from headwater.access.tokens import Credential, token_hash
from headwater.announce.receivers import store as receivers
from headwater.engine import Engine
from headwater.errors import Conflict, Forbidden, NameTaken
from headwater.fetch.address import check_url
from headwater.ports import Transaction
from headwater.subscribe.base_url import checked_base_url
from headwater.subscribe.config_schema import checked_schema
from headwater.subscribe.feed import KEEP
from headwater.subscribe.fetcher import Fetcher, FetcherId, FetcherPatch, Registration
from headwater.subscribe.fetchers import store
from headwater.subscribe.fetchers.store import Keeper
from headwater.subscribe.signing import signing_key_of
from headwater.telemetry.log import logger
from headwater.values.signature import secret_of

_lines = logger("joining")


@dataclass(frozen=True, slots=True)
class Keys:
    """New secrets, in case they are needed."""

    token: str = field(repr=False)
    signing_key: bytes = field(repr=False)

    @property
    def shown(self) -> dict[str, str]:
        """As the fetcher gets them, once."""
        return {"token": self.token, "signing_key": secret_of(self.signing_key)}


@dataclass(frozen=True, slots=True)
class Terms:
    """On which fetchers may join: how many there may be, and whether they wait for an admin."""

    most: int
    start_disabled: bool


@dataclass(frozen=True, slots=True)
class Joined:
    """`has_keys`: the new secrets are in force."""

    fetcher: Fetcher
    is_new: bool
    has_keys: bool


async def join(
    registration: Registration,
    engine: Engine,
    credential: Credential,
    keys: Keys,
    terms: Terms,
    *,
    rotate: bool = False,
    idempotency: bytes | None = None,
) -> Joined:
    """New under this name, or brought up to date by whoever the name belongs to."""
    checked = _checked(registration, engine)
    while True:
        try:
            async with engine.database.write() as tx:
                joining = _Joining(tx, engine, credential, keys, terms, engine.clock.now())
                joined = await joining.run(checked, rotate=rotate)
                if idempotency is not None:
                    await remember_resource(tx, idempotency, str(joined.fetcher.id))
        except _Overtaken:
            continue
        except NameTaken:
            _lines.warning("name_taken", fetcher_name=checked.name, by=credential.name)
            raise
        break
    _lines.info(
        "fetcher_joined" if joined.is_new else "fetcher_registered_again",
        fetcher=joined.fetcher.id,
        fetcher_name=joined.fetcher.name,
        new_keys=joined.has_keys,
        by=credential.name,
    )
    return joined


async def change_fetcher(
    fetcher_id: FetcherId, patch: FetcherPatch, engine: Engine, who: str
) -> Fetcher:
    """What an operator decides about a fetcher."""
    now = engine.clock.now()
    async with engine.database.write() as tx:
        there = await store.fetcher(tx, fetcher_id)
        if patch.base_url is not KEEP and not there.is_builtin:
            patch = replace(patch, base_url=_reachable(patch.base_url, engine))
        changed = await store.change(tx, fetcher_id, patch, now)
    _lines.info(
        "fetcher_changed",
        fetcher=changed.id,
        is_enabled=changed.is_enabled,
        priority=changed.priority,
        by=who,
    )
    return changed


class _Overtaken(Exception):
    """Somebody else registered this name between our look and our write."""


@dataclass(frozen=True, slots=True)
class _Joining:
    tx: Transaction
    engine: Engine
    credential: Credential
    keys: Keys
    terms: Terms
    now: datetime

    async def run(self, registration: Registration, *, rotate: bool) -> Joined:
        there = await self._of_name(registration.name)
        keeper = None if there is None else await store.keeper(self.tx, there.id)
        registered_by = self._speaks_as(there, keeper)
        issues = keeper is None or keeper.token_id is None or rotate
        token_id, sealed = await self._issued(registration.name) if issues else (None, None)
        fetcher, is_new = await store.register(
            self.tx,
            registration,
            registered_by=registered_by,
            token_id=token_id,
            signing_key=sealed,
            now=self.now,
            is_enabled=not self.terms.start_disabled,
            may_move=True,
        )
        if there is None and not is_new:
            raise _Overtaken
        if registration.wants_news and (there is None or not there.wants_news):
            await receivers.begin(self.tx, fetcher.id)
        if issues and keeper is not None and keeper.token_id is not None:
            await revoke_token(self.tx, keeper.token_id, self.now)
        return Joined(fetcher, is_new, issues)

    async def _of_name(self, name: str) -> Fetcher | None:
        known = await store.fetchers(self.tx)
        found = [each for each in known if each.name == name]
        joined = sum(not each.is_builtin for each in known)
        if not found and joined >= self.terms.most:
            raise Conflict(
                f"There are {joined} registered fetchers already, and no more may join.",
                max_fetchers=self.terms.most,
            )
        return found[0] if found else None

    def _speaks_as(self, there: Fetcher | None, keeper: Keeper | None) -> str:
        """A fetcher's own token and admins speak for whoever registered it."""
        own = self.credential.fetcher_id
        if self.credential.scope == "fetcher" and (there is None or own != there.id):
            if there is not None:
                raise NameTaken("Another fetcher has this name.", name=there.name)
            raise Forbidden("A fetcher's own token speaks for that fetcher alone.")
        speaks_for_it = self.credential.is_admin or own is not None
        if keeper is not None and keeper.registered_by is not None and speaks_for_it:
            return keeper.registered_by
        return self.credential.name

    async def _issued(self, name: str) -> tuple[int, bytes]:
        token = await add_token(
            self.tx, f"fetcher {name}", "fetcher", token_hash(self.keys.token), self.now
        )
        about = signing_key_of(name)
        return token.id, self.engine.vault.seal(self.keys.signing_key, about=about)


def _checked(registration: Registration, engine: Engine) -> Registration:
    return replace(
        registration,
        base_url=_reachable(registration.base_url, engine),
        config_schema=checked_schema(registration.config_schema),
    )


def _reachable(base_url: str, engine: Engine) -> str:
    """Names are looked up when they are asked; addresses that are plainly wrong are told now."""
    checked = checked_base_url(base_url)
    check_url(checked, engine.fetch.address)
    return checked
