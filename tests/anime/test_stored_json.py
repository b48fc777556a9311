"""What is kept as JSON comes back exactly as it was."""

from dataclasses import fields
from datetime import UTC, datetime
from decimal import Decimal

from hypothesis import given, settings
from hypothesis import strategies as st

from headwater.anime.candidate import TorrentCandidate
from headwater.anime.downloads.download import LostSlots
from headwater.anime.release import Release, ReleaseKind, Subtitle
from headwater.anime.shows.preferences import RANKS, Preferences, StopLine
from headwater.anime.shows.slot import FILM, Slot
from headwater.anime.stored_json import (
    decode_candidate,
    decode_lost_slots,
    decode_preferences,
    decode_release,
    decode_slots,
    encode_candidate,
    encode_lost_slots,
    encode_preferences,
    encode_release,
    encode_slots,
)
from headwater.anime.subtitles import format_subtitles, parse_wanted_subtitles
from tests.support.releases import CHS, JPN, NOON, slot

WORDS = st.text(st.characters(codec="utf-8"), max_size=8)
NUMBERS = st.decimals(0, 2000, places=1)
LANGUAGES = st.frozensets(st.sampled_from(list(Subtitle)), max_size=4)

FULL = Release(
    title="Show",
    titles={"zh": "番", "en": "Show"},
    other_titles=("Another",),
    groups=("A", "B"),
    season=2,
    season_end=3,
    part=1,
    episode=Decimal("12.5"),
    episode_end=Decimal(14),
    absolute=Decimal(45),
    episode_title="First",
    version=2,
    kind=ReleaseKind.OVA,
    batch=True,
    final=True,
    year=2026,
    resolution="1080p",
    source="BD",
    platform="Baha",
    video_codec=("HEVC", "10bit"),
    audio_codec=("AAC",),
    subtitles=frozenset({CHS, JPN}),
    container="mkv",
    checksum="ABCD1234",
    infohash="ab" * 20,
)


def test_a_release_with_everything_comes_back() -> None:
    empty = Release()
    said = [field.name for field in fields(Release)]
    assert [name for name in said if getattr(FULL, name) == getattr(empty, name)] == []
    assert decode_release(encode_release(FULL)) == FULL


def test_a_release_that_says_nothing_comes_back() -> None:
    assert decode_release(encode_release(Release())) == Release()


@settings(deadline=None)
@given(NUMBERS, st.none() | NUMBERS, st.lists(WORDS, max_size=3), LANGUAGES)
def test_numbers_stay_exact(
    first: Decimal, last: Decimal | None, groups: list[str], languages: frozenset[Subtitle]
) -> None:
    made = Release(groups=tuple(groups), episode=first, episode_end=last, subtitles=languages)
    assert decode_release(encode_release(made)) == made


def test_a_candidate_comes_back() -> None:
    made = TorrentCandidate(
        uid="u",
        title="[A] Show",
        first_seen=NOON,
        published=datetime(2026, 10, 1, 16, 30, 0, 500_000, tzinfo=UTC),
        source="nyaa",
        infohash="ab" * 20,
        torrent_url="https://nyaa.example/1.torrent",
        magnet="magnet:?xt=urn:btih:" + "ab" * 20,
        size=5,
        seeders=6,
        page="https://nyaa.example/1",
        feed="f",
        doubts=("one",),
    )
    assert decode_candidate(encode_candidate(made)) == made
    bare = TorrentCandidate("u", "t", NOON)
    assert decode_candidate(encode_candidate(bare)) == bare


@settings(deadline=None)
@given(st.lists(st.builds(Slot, st.integers(0, 30), NUMBERS) | st.just(FILM), max_size=5))
def test_any_slot_comes_back(slots: list[Slot]) -> None:
    assert decode_slots(encode_slots(slots)) == tuple(slots)


def test_a_half_and_a_film_come_back() -> None:
    slots = (slot(12.5), FILM)
    assert decode_slots(encode_slots(slots)) == slots


@settings(deadline=None)
@given(LANGUAGES)
def test_languages_in_words_name_the_same_languages(languages: frozenset[Subtitle]) -> None:
    assert parse_wanted_subtitles(format_subtitles(languages)) == languages


@settings(deadline=None)
@given(
    st.builds(
        Preferences,
        groups=st.lists(WORDS, max_size=3).map(tuple),
        aliases=st.dictionaries(WORDS, WORDS, max_size=2),
        subtitles=st.lists(LANGUAGES, max_size=4).map(tuple),
        further=st.permutations(RANKS).map(lambda ranks: tuple(ranks[:2])),
        resolutions=st.sampled_from([(), ("720p",)]),
        sources=st.sampled_from([(), ("BD",)]),
        stop=st.none() | st.builds(StopLine, st.none() | WORDS, st.none() | LANGUAGES),
    )
)
def test_preferences_come_back(preferences: Preferences) -> None:
    assert decode_preferences(encode_preferences(preferences)) == preferences


def test_losses_come_back() -> None:
    lost = (LostSlots(7, (slot(1), slot(12.5)), True), LostSlots(9, (FILM,), False))
    assert decode_lost_slots(encode_lost_slots(lost)) == lost
    assert encode_lost_slots(()) == "[]"
