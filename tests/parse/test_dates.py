"""Dates in every shape met in the wild, and the ones that must come to nothing."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.parse.dates import parse_date


def utc(*parts: int) -> datetime:
    return datetime(*parts, tzinfo=UTC)  # type: ignore[misc, arg-type]


NOON = utc(2004, 1, 5, 12, 0, 0)
FOUND: list[tuple[str, datetime]] = [
    # RFC 822
    ("Mon, 05 Jan 2004 12:00:00 GMT", NOON),
    ("Mon, 05 Jan 2004 12:00:00 +0000", NOON),
    ("Mon, 05 Jan 2004 13:00:00 +0100", NOON),
    ("Mon, 05 Jan 2004 13:00:00 +01:00", NOON),
    ("Mon, 05 Jan 2004 06:30:00 -0530", NOON),
    ("Mon, 05 Jan 2004 07:00:00 EST", NOON),
    ("Mon, 05 Jan 2004 08:00:00 EDT", NOON),
    ("Mon, 05 Jan 2004 06:00:00 CST", NOON),
    ("Mon, 05 Jan 2004 05:00:00 MST", NOON),
    ("Mon, 05 Jan 2004 04:00:00 PST", NOON),
    ("Mon, 05 Jan 2004 05:00:00 PDT", NOON),
    ("Mon, 05 Jan 2004 13:00:00 CET", NOON),
    ("Mon, 05 Jan 2004 14:00:00 CEST", NOON),
    ("Mon, 05 Jan 2004 13:00:00 MEZ", NOON),
    ("Mon, 05 Jan 2004 21:00:00 JST", NOON),
    ("Mon, 05 Jan 2004 15:00:00 MSK", NOON),
    ("Mon, 05 Jan 2004 12:00:00 UT", NOON),
    ("Mon, 05 Jan 2004 12:00:00 UTC", NOON),
    ("Mon, 05 Jan 2004 12:00:00 Z", NOON),
    ("Mon, 05 Jan 2004 12:00:00 Etc/GMT", NOON),
    ("Mon, 05 Jan 2004 07:00:00 GMT-0500", NOON),
    ("Mon, 05 Jan 2004 07:00:00 GMT-05:00", NOON),
    ("Mon, 05 Jan 2004 12:00:00 ZZZ", NOON),
    ("Mon, 05 Jan 2004 12:00:00", NOON),
    ("Mon, 05 Jan 2004 12:00", NOON),
    ("05 Jan 2004 12:00:00 GMT", NOON),
    ("5 Jan 2004 12:00:00 GMT", NOON),
    ("Mon,5 Jan 2004 12:00:00 GMT", NOON),
    ("Mon, 5 Jan 04 12:00:00 GMT", NOON),
    ("Monday, 05 January 2004 12:00:00 GMT", NOON),
    ("Monday, 05-Jan-04 12:00:00 GMT", NOON),
    ("mon, 05 jan 2004 12:00:00 gmt", NOON),
    ("Mon, Jan 5 2004 12:00:00 GMT", NOON),
    ("Mon, 05 Jan 2004", utc(2004, 1, 5)),
    ("05 Jan 99 12:00:00 GMT", utc(1999, 1, 5, 12)),
    ("Thu, 31 Dec 1970 23:59:59 GMT", utc(1970, 12, 31, 23, 59, 59)),
    ("  Mon, 05 Jan 2004 12:00:00 GMT\n", NOON),
    ("Mon, 5 Jan 2004 12:00:00 PM", NOON),
    ("Mon, 5 Jan 2004 12:00:00 AM", utc(2004, 1, 5)),
    ("Mon, 5 Jan 2004 1:00 p.m.", utc(2004, 1, 5, 13)),
    ("Mon, 05 Jan 2004 13:00:00 +100", NOON),
    ("Mon, 05 Jan 2004 07:00:00 -500", NOON),
    ("Mon, 05 Jan 2004 13:00:00 +1:00", NOON),
    ("Mon, 05 Jan 104 12:00:00 GMT", NOON),
    # ISO 8601 and RFC 3339
    ("2004-01-05T12:00:00Z", NOON),
    ("2004-01-05t12:00:00z", NOON),
    ("2004-01-05T13:00:00+01:00", NOON),
    ("2004-01-05T13:00:00+0100", NOON),
    ("2004-01-05T13:00:00+01", NOON),
    ("2004-01-05T12:00:00", NOON),
    ("2004-01-05T12:00Z", NOON),
    ("2004-01-05 12:00:00", NOON),
    ("2004-01-05 12:00:00 +0000", NOON),
    ("2004-01-05 07:00:00 EST", NOON),
    ("2004-01-05T12:00:00.000Z", NOON),
    ("2004-01-05T12:00:00.123456789Z", utc(2004, 1, 5, 12, 0, 0, 123456)),
    ("2004-1-5T12:00:00Z", NOON),
    ("2004-01-05T24:00:00Z", utc(2004, 1, 6)),
    ("-04-01-05", utc(2004, 1, 5)),
    ("2004-01-05Z", utc(2004, 1, 5)),
    ("2004-01-05+01:00", utc(2004, 1, 4, 23)),
    ("2004-01-05-0530", utc(2004, 1, 5, 5, 30)),
    ("2004-01-05", utc(2004, 1, 5)),
    ("2004-01", utc(2004, 1, 1)),
    ("2004", utc(2004, 1, 1)),
    ("20040105", utc(2004, 1, 5)),
    ("040105", utc(2004, 1, 5)),
    ("20040105T120000Z", NOON),
    ("2004-005", utc(2004, 1, 5)),
    ("2004005", utc(2004, 1, 5)),
    ("2004-W02-1", utc(2004, 1, 5)),
    ("2004-W02", utc(2004, 1, 5)),
    ("2004W021", utc(2004, 1, 5)),
    ("2004W021T120000Z", NOON),
    ("2004-W02-1T13:00:00+01:00", NOON),
    ("2004-005T12:00:00Z", NOON),
    ("2004005T120000Z", NOON),
    ("2004-01-05T07:00:00\u221205:00", NOON),
    ("2004-01-05 1:00:00 PM", utc(2004, 1, 5, 13)),
    ("2004-01-05 12:00:00 AM", utc(2004, 1, 5)),
    ("1073304000", NOON),
    # asctime, Perforce, American
    ("Mon Jan  5 12:00:00 2004", NOON),
    ("Mon Jan 5 13:00:00 +0100 2004", NOON),
    ("Mon, 2004/01/05 07:00:00 EST", NOON),
    ("2004/01/05 12:00", NOON),
    ("1/5/2004 12:00:00 PM", NOON),
    ("1/5/2004 12:00 AM", utc(2004, 1, 5)),
    ("01/05/2004", utc(2004, 1, 5)),
    ("31/12/2003", utc(2003, 12, 31)),
    ("January 5, 2004 12:00 pm", NOON),
    ("05.01.2004 12:00", NOON),
    # other languages
    ("2004\ub144 01\uc6d4 05\uc77c  21:00:00", NOON),
    ("2004-01-05 \uc624\ud6c4 9:00:00", NOON),
    ("2004\u5e741\u67085\u65e5 12:00", NOON),
    ("2004\u5e7401\u670805\u65e5", utc(2004, 1, 5)),
    ("\u041f\u043d, 05 \u044f\u043d\u0432 2004 15:00:00 +0300", NOON),
    ("5 \u044f\u043d\u0432\u0430\u0440\u044f 2004, 12:00", NOON),
    ("\u0394\u03b5\u03c5, 05 \u0399\u03b1\u03bd 2004 07:00:00 EST", NOON),
    ("\u039a\u03c5\u03c1, 11 \u0399\u03bf\u03cd\u03bb 2004 12:00:00 EST", utc(2004, 7, 11, 17)),
    ("2004-janu\u00e1r-5T13:00+01:00", NOON),
    ("2004-j\u00falius-13T9:15-05:00", utc(2004, 7, 13, 14, 15)),
    ("lun., 05 janv. 2004 13:00:00 +0100", NOON),
    ("5 f\u00e9vrier 2004 12:00", utc(2004, 2, 5, 12)),
    ("Mo, 05 M\u00e4r 2004 12:00:00 GMT", utc(2004, 3, 5, 12)),
    ("Di, 05 Mai 2004 14:00:00 MESZ", utc(2004, 5, 5, 12)),
    ("5 de enero de 2004", utc(2004, 1, 5)),
    ("lun, 05 gen 2004 12:00:00 GMT", NOON),
    ("seg, 05 fev 2004 12:00:00 GMT", utc(2004, 2, 5, 12)),
    ("ma, 05 mrt 2004 12:00:00 GMT", utc(2004, 3, 5, 12)),
    ("5 stycznia 2004 12:00", NOON),
    ("5 Ocak 2004 12:00", NOON),
    ("5 tammikuuta 2004 12:00", NOON),
    ("Jan 5 2004 12:30am", utc(2004, 1, 5, 0, 30)),
    ("5 de enero de 2004, 1:00 p. m.", utc(2004, 1, 5, 13)),
    ("5 de enero de 2004, 12:00 a.\u00a0m.", utc(2004, 1, 5)),
    # a Tuesday that could be March, a Wednesday that could be August
    ("mar, 06 ene 2004 12:00:00 GMT", utc(2004, 1, 6, 12)),
    ("mar., 06 avr. 2004 14:00:00 +0200", utc(2004, 4, 6, 12)),
    ("mardi 6 avril 2004", utc(2004, 4, 6)),
    ("martes 6 de enero de 2004", utc(2004, 1, 6)),
    ("marted\u00ec 6 gennaio 2004", utc(2004, 1, 6)),
    ("Mar, 06 Gen 2004 13:00:00 +0100", utc(2004, 1, 6, 12)),
    ("mardi 9 mars 2004", utc(2004, 3, 9)),
    ("mar. janv. 6 2004", utc(2004, 1, 6)),
    ("\u0421\u0435\u0440, 07 \u0441\u0456\u0447 2004 12:00:00 GMT", utc(2004, 1, 7, 12)),
    ("Mar 9 2004 12:00:00 GMT+0000 (Novosibirsk Time)", utc(2004, 3, 9, 12)),
    # words with marks that are no letters; the Thai count years from the Buddha's death
    ("5 \u0e21\u0e35\u0e19\u0e32\u0e04\u0e21 2004 12:00", utc(2004, 3, 5, 12)),
    ("5 \u0e21\u0e35.\u0e04. 2547 12:00", utc(2004, 3, 5, 12)),
    ("5 \u091c\u0928\u0935\u0930\u0940 2004 12:00", NOON),
    # names that two languages share
    ("wt., 13 lip 2004 12:00:00 GMT", utc(2004, 7, 13, 12)),
    ("czw., 11 lis 2004 12:00:00 GMT", utc(2004, 11, 11, 12)),
    ("po, 09 srp 2004 12:00:00 GMT", utc(2004, 8, 9, 12)),
    ("uto, 13 lip 2004 12:00:00 GMT", utc(2004, 6, 13, 12)),
    ("sri, 13 srp 2004 12:00:00 GMT", utc(2004, 7, 13, 12)),
    ("petak, 15 listopada 2004", utc(2004, 10, 15)),
    ("15 listopada 2004", utc(2004, 11, 15)),
    ("torstaina, 11 marraskuuta 2004 12:00:00 +0000", utc(2004, 11, 11, 12)),
    ("to, 11 marrask. 2004 12:00:00 +0000", utc(2004, 11, 11, 12)),
    ("Th 7, 09 thg 1 2004 12:00:00 +0000", utc(2004, 1, 9, 12)),
    ("L, 09 jaan 2004 12:00", utc(2004, 1, 9, 12)),
    ("10 j\u016bn. 2004 12:00", utc(2004, 6, 10, 12)),
    ("\u0161t, 10 liep. 2004 12:00", utc(2004, 7, 10, 12)),
    ("\u043d\u0434, 11 \u043a\u0432\u0456\u0442. 2004 12:00", utc(2004, 4, 11, 12)),
    ("\u0441\u0443\u0431, 09 \u0458\u0430\u043d 2004 12:00", utc(2004, 1, 9, 12)),
    ("\u03a0\u03b1\u03c1, 14 \u039c\u03b1\u0390 2004 12:00", utc(2004, 5, 14, 12)),
    ("Sen, 09 Agu 2004 12:00", utc(2004, 8, 9, 12)),
    ("15 Mac 2004 12:00", utc(2004, 3, 15, 12)),
    ("9 xaneiro 2004 12:00", utc(2004, 1, 9, 12)),
    # the half of the day in other words, right after the clock
    ("5 Ocak 2004 1:00 \u00d6S", utc(2004, 1, 5, 13)),
    ("5 \u064a\u0646\u0627\u064a\u0631 2004 1:00 \u0645", utc(2004, 1, 5, 13)),
    ("5 \u064a\u0646\u0627\u064a\u0631 2004 12:00 \u0635", utc(2004, 1, 5)),
    ("jan. 5, 2004 1:00:00 du.", utc(2004, 1, 5, 13)),
    ("1:00 du 5 janvier 2004", utc(2004, 1, 5, 1)),
    # months that are counted
    ("\u5468\u4e00, 05 \u4e00\u6708 2004 12:00:00 +0000", NOON),
    ("\u661f\u671f\u56db, 09 \u5341\u4e8c\u6708 2004 12:00:00 GMT", utc(2004, 12, 9, 12)),
    ("\u5468\u4e00, 05 1\u6708 2004 12:00:00 GMT", NOON),
    ("\u6708, 05 1\u6708 2004 21:00:00 +0900", NOON),
    ("\uc6d4, 05 1\uc6d4 2004 12:00:00 +0000", NOON),
    ("\uc6d4, 05 1\uc6d4 2004 21:00:00", NOON),
    ("Th\u1ee9 Hai, 5 th\u00e1ng 1 n\u0103m 2004", utc(2004, 1, 5)),
    # a zone that is named beats the one that is usual
    ("2004\ub144 01\uc6d4 05\uc77c 12:00:00 GMT", NOON),
    ("2004-01-05 \uc624\ud6c4 12:00:00 +0000", NOON),
    ("5 \u0441\u0456\u0447\u0435\u043d\u044c 2004 12:00", NOON),
    ("5 \u05d1\u05d9\u05e0\u05d5\u05d0\u05e8 2004 12:00", NOON),
    # single digits in the clock, and clocks without minutes
    ("2004-01-05T12:0:0Z", NOON),
    ("2004-01-05T12:00:3Z", utc(2004, 1, 5, 12, 0, 3)),
    ("2004-01-05T13:0:3+01:00", utc(2004, 1, 5, 12, 0, 3)),
    ("Mon, 05 Jan 2004 12:00:3 GMT", utc(2004, 1, 5, 12, 0, 3)),
    ("Mon, 05 Jan 2004 12:0:3 GMT", utc(2004, 1, 5, 12, 0, 3)),
    ("Mon, 05 Jan 2004 07 EST", NOON),
    ("Mon, 05 Jan 2004 13 +0100", NOON),
    ("2004-01-05T9Z", utc(2004, 1, 5, 9)),
    ("2004-01-05T9+01:00", utc(2004, 1, 5, 8)),
    ("2004-01-05 9", utc(2004, 1, 5, 9)),
    # ISO 8601 without the century
    ("-0401", utc(2004, 1, 1)),
    ("-04-01", utc(2004, 1, 1)),
    # other orders, other marks
    ("20040105 12:00:00", NOON),
    ("20040105 120000", NOON),
    ("12:00:00 2004-01-05", NOON),
    ("12:00 05-01-2004", NOON),
    ("Mon, 05 Jan 2004 12-30-45", utc(2004, 1, 5)),
    ("01/05/2004 12.30.45", utc(2004, 1, 5)),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), FOUND)
def test_a_date_is_understood(text: str, expected: datetime) -> None:
    assert parse_date(text) == expected


NOTHING = [
    "", " ", "soon", "Fri", "n/a", "0", "-", "0000-00-00", "0000-01-01T00:00:00Z",
    "0001-01-01T00:00:00Z", "Mon, 01 Jan 0001 00:00:00 +0000", "Mon, 01 Jan 0000 00:00:00 GMT",
    "99999-01-01", "99999", "2004-13-01", "2004-02-30", "2004-02-00", "2004-01-05T25:61:61Z",
    "Mon, 05 Jan 2004 25:61:61 GMT", "Mon, 30 Feb 2004 12:00:00 GMT", "9999-12-31T23:59:59-12:00",
    "Fri, 31 Dec 9999 23:59:59 -9999", "2004-01-05T12:00:00+99:99", "2004-01-05T12:00:00+9999",
    "9" * 5000, "1" * 60, "Mon, " * 1000, ":" * 127, "2003-366", "2003-366x",
    "2003-366T12:00:00Z", "2004-005T25:00:00Z", "2003W531", "-0413", "9999-366",
    "Mon, 01 Jan 000 00:00:00 GMT",
    "2016-12-31T23:59:60Z", "Sat, 31 Dec 2016 23:59:60 GMT", "2003-04-31T01:00:00+02:00",
    "2004-01-04T36:00:00Z", "2004-01-05T11:60:00Z",
    "2004-02-32", "2004-00-01", "9999-12-31T25:00:00Z", "Mon, 05 Jan 2004 12:00:61 GMT",
    "Mon, 31 Jun 2004 12:00:00 GMT", "Mon, 05 Jan 2004 25:00:00 GMT",
    "Mon, 05 Jan 2004 12:00:00 +9999", "平成25年13月1日", "民國0113年5月14日",
]  # fmt: skip


ERAS = [
    ("令和3年3月9日", utc(2021, 3, 9)),
    ("平成25年5月14日 10時20分", utc(2013, 5, 14, 10, 20)),
    ("令和元年5月1日(水)", utc(2019, 5, 1)),
    ("昭和 64 年 1 月 7 日", utc(1989, 1, 7)),
    ("民國113年5月14日", utc(2024, 5, 14)),
    ("2024年(令和6年)5月1日", utc(2024, 5, 1)),
    ("令和6年（2024年）5月1日", utc(2024, 5, 1)),
]


@pytest.mark.parametrize(("text", "expected"), ERAS)
def test_the_years_of_an_era_are_counted_from_its_beginning(text: str, expected: datetime) -> None:
    assert parse_date(text) == expected


@pytest.mark.parametrize("text", NOTHING)
def test_what_is_no_moment_comes_to_nothing(text: str) -> None:
    assert parse_date(text) is None


@given(st.text(max_size=200))
def test_no_text_raises(text: str) -> None:
    found = parse_date(text)
    assert found is None or found.utcoffset() == timedelta(0)


@given(st.text(alphabet="0123456789-:TZ+ ,/.JanFebMar", max_size=40))
def test_no_text_that_looks_like_a_date_raises(text: str) -> None:
    found = parse_date(text)
    assert found is None or 1000 <= found.year <= 9999


@given(st.datetimes(min_value=datetime(1970, 1, 1), max_value=datetime(2200, 1, 1)))
def test_iso_and_rfc_822_mean_the_same(moment: datetime) -> None:
    moment = moment.replace(microsecond=0)
    assert parse_date(moment.isoformat() + "Z") == moment.replace(tzinfo=UTC)
    rfc = f"{moment:%a, %d %b %Y %H:%M:%S} GMT"
    assert parse_date(rfc) == moment.replace(tzinfo=UTC)
