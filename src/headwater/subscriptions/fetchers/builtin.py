"""Built-in fetchers: whether one can visit a source is decided from the URL alone."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from headwater.core.errors import BadUrl
from headwater.core.values.url import host_of
from headwater.subscriptions.fetchers.fetcher import IN_PROCESS, Fetcher, rank_fetchers

FEED_TYPES = frozenset({"rss", "atom", "json", "feed"})
"""Source types that our own parser reads; any other is for fetchers that know it."""

MIKANANI_HOSTS = ("mikanani.me", "mikanime.tv")


@dataclass(frozen=True, slots=True)
class BuiltinFetcher:
    """A fetcher in this process. `handles(source_url, source_type)` must be quick and pure.

    `priority` is the first one: an operator may change it later.
    """

    name: str
    version: str
    description: str
    priority: int
    handles: Callable[[str, str], bool]

    @property
    def base_url(self) -> str:
        return f"{IN_PROCESS}{self.name}"


def _any_feed(source_url: str, source_type: str) -> bool:
    return source_type in FEED_TYPES and _host(source_url) is not None


def _mikanani(source_url: str, source_type: str) -> bool:
    return source_type == "rss" and is_within(source_url, MIKANANI_HOSTS)


def is_within(source_url: str, domains: Iterable[str]) -> bool:
    """Whether the URL's host is one of the domains or below one; the rest of the URL never
    counts."""
    host = _host(source_url)
    return host is not None and any(
        host == domain or host.endswith(f".{domain}") for domain in domains
    )


def _host(source_url: str) -> str | None:
    try:
        return host_of(source_url)
    except BadUrl:
        return None


FEED = BuiltinFetcher(
    name="feed",
    version="1.0.0",
    description="Any RSS, Atom or JSON feed over http or https.",
    priority=10,
    handles=_any_feed,
)
MIKANANI = BuiltinFetcher(
    name="mikanani",
    version="1.0.0",
    description="Anime releases of mikanani.me and its mirror.",
    priority=100,
    handles=_mikanani,
)
BUILTINS: tuple[BuiltinFetcher, ...] = (FEED, MIKANANI)


def best_builtin(
    builtins: Iterable[BuiltinFetcher],
    fetchers: Iterable[Fetcher],
    source_url: str,
    source_type: str,
) -> Fetcher | None:
    """The enabled built-in fetcher of the highest priority that can visit this URL."""
    able = {builtin.base_url for builtin in builtins if builtin.handles(source_url, source_type)}
    candidates = [each for each in fetchers if each.is_enabled and each.base_url in able]
    return rank_fetchers(candidates)[0] if candidates else None
