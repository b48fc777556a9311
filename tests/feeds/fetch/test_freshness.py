"""What a publisher's cache headers say about the next visit."""

import pytest

from headwater.feeds.fetch.freshness import LONGEST, fresh_for

DATE = ("Date", "Sun, 15 Nov 2026 10:00:00 GMT")
LATER = ("Expires", "Sun, 15 Nov 2026 11:00:00 GMT")


@pytest.mark.parametrize(
    ("control", "seconds"),
    [
        ("max-age=300", 300.0),
        ("public, max-age=300, must-revalidate", 300.0),
        ('Max-Age="60"', 60.0),
        ("max-age=0", 0.0),
        ("s-maxage=600", None),
        ("s-maxage=600, max-age=60", 60.0),
        ("no-cache, max-age=60", None),
        ("no-store", None),
        ('no-cache="x", max-age=60', None),
        ("max-age=-5", None),
        ("max-age=abc", None),
        ("max-age=\u0663", None),
        ("max-age=" + "9" * 5000, LONGEST),
        ("max-age=60, max-age=90", 60.0),
        ("public", None),
        ("", None),
        (",,=,", None),
    ],
)
def test_cache_control(control: str, seconds: float | None) -> None:
    assert fresh_for((("Cache-Control", control),)) == seconds


def test_expires_is_measured_by_the_publishers_own_clock() -> None:
    assert fresh_for((DATE, LATER)) == 3600.0
    assert fresh_for((LATER,)) is None
    assert fresh_for((DATE, ("Expires", "0"))) is None
    assert fresh_for((("Expires", DATE[1]), ("Date", LATER[1]))) == 0.0
    assert fresh_for((DATE, ("Expires", "Fri, 31 Dec 9999 23:59:59 GMT"))) == LONGEST


def test_max_age_is_stronger_than_expires() -> None:
    assert fresh_for((DATE, LATER, ("Cache-Control", "max-age=60"))) == 60.0
    assert fresh_for((DATE, LATER, ("Cache-Control", "no-cache"))) is None
    assert fresh_for((DATE, LATER, ("Cache-Control", "public"))) == 3600.0
