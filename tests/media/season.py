"""The season that every client lives through: what is released, and what must have come of it."""

from pathlib import Path

from headwater.anime.download_clients.open_client import open_download_client
from headwater.anime.downloads.ports import DownloadClient
from headwater.web.limits import WebLimits
from tests.media.shelf import Slot
from tests.media.site import Published, ReleaseSite, video
from tests.media.stage import Stage
from tests.support.torrents import Made, made

SHOW = {
    "show": {"title": "金牌得主", "year": 2025},
    "preferences": {"groups": ["VCB-Studio", "LoliHouse", "ANi"]},
    "packs": True,
}
EPISODES = 4
FIRST = "[ANi] 金牌得主 - 01 [1080P][Baha][WEB-DL][AAC AVC][CHT]"


def ani(site: ReleaseSite, number: int, *, magnet: bool = False) -> Published:
    title = FIRST.replace("- 01", f"- {number:02}")
    return site.single(title, magnet=magnet)


def loli(site: ReleaseSite, number: int, version: str = "") -> Published:
    said = f"- {number:02}{version}"
    return site.single(
        f"[LoliHouse] 金牌得主 / Medalist {said} [WebRip 1080p HEVC-10bit AAC][简日内嵌字幕]"
    )


def batch(site: ReleaseSite) -> Published:
    return site.pack(
        f"[VCB-Studio] 金牌得主 [01-{EPISODES:02}][Ma10p_1080p]",
        [f"[VCB-Studio] 金牌得主 [{n:02}][Ma10p_1080p].mkv" for n in range(1, EPISODES + 1)],
    )


def at(*releases: Published) -> dict[Slot, Published]:
    """The first is episode 1, and so on."""
    return {(1, number): release for number, release in enumerate(releases, 1)}


FOREIGN = made(f"{FIRST}.mkv", video("somebody else's"))
"""Of the same name as a release of ours, with other bytes, and not ours."""


def downloader_of(stage: Stage, tag: str = "headwater") -> DownloadClient:
    plan = stage.plan
    own = type(plan)(plan.kind, plan.url, plan.username, plan.password, tag=tag, category=tag)
    return open_download_client(own, WebLimits(), "Headwater/test")


async def first_weeks(stage: Stage) -> dict[Slot, Published]:
    """Three episodes, then two of them from a better group, then a corrected one."""
    site = stage.site
    one, two, three = ani(site, 1), ani(site, 2), ani(site, 3, magnet=True)
    stage.publish(one, two, three)
    await stage.until_shown(at(one, two, three))
    better, also = loli(site, 1), loli(site, 2)
    stage.publish(better, also)
    await stage.until_shown(at(better, also, three))
    corrected = loli(site, 2, "v2")
    stage.publish(corrected)
    site.repeat(one)
    stage.publish(site.single(FIRST, salt="packed anew"))
    await stage.until_shown(at(better, corrected, three))
    return at(better, corrected, three)


async def last_week(stage: Stage) -> dict[Slot, Published]:
    """All of it at once, from the best group."""
    everything = batch(stage.site)
    stage.publish(everything)
    expected = dict.fromkeys([(1, number) for number in range(1, EPISODES + 1)], everything)
    await stage.until_shown(expected)
    return expected


def is_as_seeded(folder: Path, torrent: Made) -> bool:
    return all((folder / path).read_bytes() == body for path, body in torrent.files.items())
