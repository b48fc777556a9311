"""Names of files from texts of strangers: safe on every system, unique, and never too long."""

import re
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headwater.anime.naming.safe_path import (
    check_folder,
    collision_key,
    extension_of,
    is_safe_relative_path,
    is_short_enough,
    safe_name,
    shorten_name,
    unused_path,
)
from headwater.core.errors import BadInput

FORBIDDEN = set('/\\:*?"<>|')
RESERVED = {"con", "prn", "aux", "nul", "com1", "lpt9", "com¹", "conin$"}


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("../../etc/cron.d/x", "etc-cron.d-x.mkv"),
        ("/abs", "abs.mkv"),
        ("C:\\x", "C-x.mkv"),
        ("\\\\host\\share", "host-share.mkv"),
        ("~root", "root.mkv"),
        ("%2e%2e", "%2e%2e.mkv"),
        ("a\x00b", "a b.mkv"),
        ("a\r\nb", "a b.mkv"),
        ("Fate/Zero", "Fate-Zero.mkv"),
        (".hack//SIGN", "hack-SIGN.mkv"),
        ("Re: Zero", "Re - Zero.mkv"),
        ("Re:Zero", "Re-Zero.mkv"),
        ("Show. . ", "Show.mkv"),
        ("CON", "CON_.mkv"),
        ("nul", "nul_.mkv"),
        ("NUL.mkv", "NUL_.mkv.mkv"),
        ("com1.tar", "com1_.tar.mkv"),
        ("COM¹", "COM¹_.mkv"),
        ("Console", "Console.mkv"),
        ("--flag", "flag.mkv"),
        ("$(id) `x` %F", "$(id) `x` %F.mkv"),
        ('What? "Why" <Who> *', "What 'Why' (Who).mkv"),
        ("Who?", "Who.mkv"),
        ("exe\u202evkm.x", "exevkm.x.mkv"),
        ("Sh\u200bow\ufeff", "Show.mkv"),
        ("番組\u3000二期", "番組 二期.mkv"),
        ("が", "が.mkv"),
        ("누구", "누구.mkv"),
        ("日常！？", "日常！？.mkv"),
        ("a\ud800b", "ab.mkv"),
        ("a\ufffeb", "ab.mkv"),
    ],
)
def test_a_name_is_made_safe(text: str, name: str) -> None:
    assert safe_name(text, extension="mkv") == name


@pytest.mark.parametrize(
    "device",
    "CON PRN AUX NUL CONIN$ CONOUT$"
    " COM0 COM1 COM2 COM3 COM4 COM5 COM6 COM7 COM8 COM9 COM¹ COM² COM³"
    " LPT0 LPT1 LPT2 LPT3 LPT4 LPT5 LPT6 LPT7 LPT8 LPT9 LPT¹ LPT² LPT³".split(),
)
def test_no_name_is_a_device_of_windows(device: str) -> None:
    assert safe_name(device) == f"{device}_"
    assert safe_name(device.lower(), extension="mkv") == f"{device.lower()}_.mkv"
    assert safe_name(f"{device}.part 1") == f"{device}_.part 1"
    assert safe_name(f"{device} .x") == f"{device} _.x"
    assert safe_name(f"{device}x") == f"{device}x"
    with pytest.raises(BadInput, match="no name on every system"):
        check_folder(f"Shows/{device}")


@pytest.mark.parametrize(
    "text", ["", " ", ".", "..", "...", "???", "\\/", "\x00", "\u202e", "- - ."]
)
def test_what_leaves_nothing_has_a_name_by_its_hash(text: str) -> None:
    assert safe_name(text, extension="mkv").startswith("untitled ")
    assert safe_name(text) != safe_name(text + "..")


@pytest.mark.parametrize("extension", ["", "mkv/..", "m k", ".mkv", "x" * 40, "mkv\n", "a.b"])
def test_an_extension_that_is_none_is_left_out(extension: str) -> None:
    assert safe_name("Show", extension=extension) == "Show"


def test_a_long_name_is_cut_and_keeps_its_extension() -> None:
    name = safe_name("あ" * 100, extension="mkv")
    assert name == "あ" * 83 + ".mkv"
    assert len(name.encode()) == 253


def test_an_emoji_at_the_limit_is_kept_whole_or_not_at_all() -> None:
    assert safe_name("x" * 248 + "🎉" + "y" * 9, extension="mkv") == "x" * 248 + ".mkv"
    assert safe_name("x" * 246 + "🎉" + "y" * 9, extension="mkv") == "x" * 246 + "🎉" + ".mkv"


@pytest.mark.parametrize(
    ("text", "room", "kept"),
    [
        ("abc", 3, "abc"),
        ("abcd", 3, "abc"),
        ("あいう", 7, "あい"),
        ("ae\u0323\u0302", 3, "a"),
        ("a🇯🇵🇰🇷", 13, "a🇯🇵"),
        ("a👍🏽b", 6, "a"),
        ("a👨\u200d👩b", 9, "a"),
        ("a❤\ufe0fb", 5, "a"),
        ("ab  cd", 4, "ab"),
        ("abc", 0, ""),
    ],
)
def test_a_cut_falls_between_what_people_see_as_letters(text: str, room: int, kept: str) -> None:
    assert shorten_name(text, room) == kept


def test_a_system_that_takes_letters_apart_has_room_too() -> None:
    """One letter of two bytes is three units there: 127 of them are no name."""
    name = safe_name("ǖ" * 127)
    assert len(unicodedata.normalize("NFD", name)) <= 255


@settings(deadline=None)
@given(st.text(max_size=400), st.sampled_from(["", "mkv", "ass"]))
def test_every_text_becomes_a_name_for_every_system(text: str, extension: str) -> None:
    name = safe_name(text, extension=extension)
    assert is_short_enough(name, 255)
    assert len(name.encode()) <= 255
    assert not FORBIDDEN & set(name)
    assert name == unicodedata.normalize("NFC", name)
    assert name not in ("", ".", "..")
    assert name[0] not in " .-~"
    assert name[-1] not in " ."
    assert name.partition(".")[0].rstrip().lower() not in RESERVED
    assert all(unicodedata.category(letter) not in ("Cc", "Cf", "Cs") for letter in name)
    assert name.endswith(f".{extension}" if extension else "")
    assert is_safe_relative_path(f"library/{name}")


@settings(deadline=None)
@given(st.text(max_size=300))
def test_a_safe_name_stays_as_it_is(text: str) -> None:
    name = safe_name(text)
    assert safe_name(name) == name


@settings(deadline=None)
@given(st.text(max_size=100), st.integers(0, 60))
def test_what_is_shortened_is_a_beginning(text: str, room: int) -> None:
    assert text.startswith(shorten_name(text, room))


def test_a_taken_path_gets_a_number() -> None:
    assert unused_path("a/Show.mkv", []) == "a/Show.mkv"
    assert unused_path("a/Show.mkv", ["b/Show.mkv"]) == "a/Show.mkv"
    assert unused_path("a/Show.mkv", ["a/Show.mkv"]) == "a/Show (2).mkv"
    assert unused_path("a/Show.mkv", ["a/Show.mkv", "a/Show (2).mkv"]) == "a/Show (3).mkv"
    assert unused_path("Show", ["Show"]) == "Show (2)"


@pytest.mark.parametrize(
    ("one", "other"),
    [("a/SHOW.mkv", "A/show.MKV"), ("が", "か\u3099"), ("straße", "STRASSE"), ("Ⅱ", "ⅱ")],
)
def test_paths_that_some_system_takes_for_one_are_taken(one: str, other: str) -> None:
    assert collision_key(one) == collision_key(other)
    assert unused_path(one, [other]) != one


def test_a_number_fits_a_name_of_full_length() -> None:
    long = "x" * 251 + ".mkv"
    found = unused_path(long, [long])
    assert found == "x" * 247 + " (2).mkv"


@pytest.mark.parametrize(
    ("filename", "extension"),
    [
        ("a.mkv", "mkv"),
        ("a.b.MKV", "mkv"),
        ("a", ""),
        ("a.", ""),
        ("a.m k", ""),
        (".mkv", "mkv"),
        ("a.mkv/..", ""),
        ("a.mkv\x00", ""),
    ],
)
def test_an_extension_is_plain_letters(filename: str, extension: str) -> None:
    assert extension_of(filename) == extension


@pytest.mark.parametrize("path", ["Anime", "Anime/Airing", "动画/新番", " Anime/ ", "a.b/c-d", ""])
def test_a_folder_below_the_library_is_accepted(path: str) -> None:
    assert check_folder(path) == path.strip().rstrip("/")


@pytest.mark.parametrize(
    "path",
    [
        "/etc",
        "..",
        "a/../b",
        "a/./b",
        "a//b",
        "~/x",
        "C:/x",
        "c:x",
        "a\\b",
        "a/CON",
        "a/b.",
        "a/ b",
        "a/b:c",
        "a/-x",
        "a/\x00",
        "a/x\u202ey",
        "/".join("abcdefghijklmnopqrst"),
        "x" * 300,
        "x/" * 600 + "y",
    ],
)
def test_a_folder_that_leads_elsewhere_or_is_none_everywhere_is_refused(path: str) -> None:
    with pytest.raises(BadInput):
        check_folder(path)


@pytest.mark.parametrize(
    ("path", "complaint"),
    [
        ("/etc", "relative to the library"),
        ("~/x", "relative to the library"),
        ("C:/x", "relative to the library"),
        ("\\\\host\\x", "relative to the library"),
        ("a\\b", "separated by /"),
        ("a/../b", "empty, . or .."),
        ("a/./b", "empty, . or .."),
        ("a//b", "empty, . or .."),
        ("a/" + "x" * 256, "longer than 255 bytes"),
        ("/".join(["a" * 100] * 11), "longer than 1024 bytes"),
        ("/".join("abcdefghijklmnopq"), "more than 16 parts"),
        ("a/b.", "no name on every system; 'b' would be"),
    ],
)
def test_what_is_wrong_with_a_folder_is_named(path: str, complaint: str) -> None:
    with pytest.raises(BadInput, match=re.escape(complaint)):
        check_folder(path)


def test_the_longest_and_the_deepest_folder_are_taken() -> None:
    longest = "/".join([letter * 203 for letter in "abcde"]) + "/fghi"
    assert len(longest) == 1024
    assert check_folder(longest) == longest
    assert check_folder("/".join("abcdefghijklmnop")) == "a/b/c/d/e/f/g/h/i/j/k/l/m/n/o/p"


@pytest.mark.parametrize(
    "path", ["", "/a", "a/..", "../a", "a//b", "a/./b", "~a", "C:/a", "a\\b", "\\a", "a\x00b"]
)
def test_a_way_out_is_seen(path: str) -> None:
    assert not is_safe_relative_path(path)
