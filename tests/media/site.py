"""A site of releases on loopback: a feed, the torrents it names, and what their files hold."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from html import escape

from tests.support.origin import Origin, OriginFeed, Post, Reply
from tests.support.torrents import Made, made

TORRENT = {"Content-Type": "application/x-bittorrent"}
VIDEO_BYTES = 300_000


def video(name: str, length: int = VIDEO_BYTES) -> bytes:
    """Bytes that no other name has."""
    block = sha256(name.encode()).digest()
    return (block * (length // len(block) + 1))[:length]


def file_name(title: str) -> str:
    return title.replace("/", "-")


@dataclass(frozen=True, slots=True)
class Published:
    """A release as the site offers it."""

    title: str
    torrent: Made

    @property
    def infohash(self) -> str:
        return self.torrent.infohash

    @property
    def digest(self) -> str:
        """Of its only file."""
        (body,) = self.bodies
        return sha256(body).hexdigest()

    @property
    def bodies(self) -> list[bytes]:
        return list(self.torrent.files.values())


@dataclass(slots=True)
class ReleaseSite:
    origin: Origin
    feed: OriginFeed = field(init=False)
    _listed: int = 0

    def __post_init__(self) -> None:
        self.feed = self.origin.feed("/releases.xml")
        self.feed.render = rendered

    def single(self, title: str, *, magnet: bool = False, salt: str = "") -> Published:
        """One episode, a file of the release's own name."""
        torrent = made(f"{file_name(title)}.mkv", video(title + salt))
        return self.offer(title, torrent, magnet=magnet)

    def pack(self, title: str, names: Sequence[str]) -> Published:
        """A folder of episodes."""
        files = {name: video(title + name) for name in names}
        return self.offer(title, made(file_name(title), files))

    def offer(self, title: str, torrent: Made, *, magnet: bool = False) -> Published:
        """Listed on top of the feed. `magnet`: there is no torrent file to be had."""
        release = Published(title, torrent)
        if not magnet:
            place = self.origin.feed(f"/torrents/{release.infohash}.torrent")
            place.stand_in = Reply(200, torrent.torrent, TORRENT)
        self.repeat(release, magnet=magnet)
        return release

    def repeat(self, release: Published, *, magnet: bool = False) -> None:
        """The same torrent as a new entry."""
        self._listed += 1
        post = Post(f"release-{self._listed}", release.title, link=self._link(release, magnet))
        self.feed.publish(post)

    def _link(self, release: Published, magnet: bool) -> str:
        if magnet:
            return f"magnet:?xt=urn:btih:{release.infohash}&dn=release"
        return f"http://127.0.0.1:{self.origin.port}/torrents/{release.infohash}.torrent"


def rendered(posts: Sequence[Post]) -> bytes:
    items = "".join(
        f'<item><guid isPermaLink="false">{escape(post.guid)}</guid>'
        f"<title>{escape(post.title)}</title>"
        f'<enclosure url="{escape(post.where)}" length="{VIDEO_BYTES}"'
        ' type="application/x-bittorrent"/></item>\n'
        for post in posts
    )
    return (
        '<?xml version="1.0" encoding="utf-8"?>\n<rss version="2.0"><channel>'
        "<title>Releases of one show</title><link>https://releases.example/</link>"
        f"<description>Releases</description>\n{items}</channel></rss>\n"
    ).encode()


def by_digest(releases: Sequence[Published]) -> Mapping[str, Published]:
    """Every file that was ever offered, by its bytes."""
    return {sha256(body).hexdigest(): each for each in releases for body in each.bodies}
