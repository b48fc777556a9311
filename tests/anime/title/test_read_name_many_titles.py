"""What release titles mean: some three hundred of them, each with all that it says."""

import pytest

from headwater.anime.release import Release
from headwater.anime.title import read_title
from tests.support.labelled_titles import ALWAYS, Labelled, labelled

CHINESE = labelled("titles_chinese.txt")
LATIN = labelled("titles_latin.txt")
LANGUAGES = ("zh", "ja", "en")


def said(release: Release, field: str) -> str | None:
    """A field as the labels spell it."""
    if field in LANGUAGES:
        return release.titles.get(field)
    value = getattr(release, field)
    if value is None or value is False or value == () or value == frozenset():
        return None
    if field == "groups":
        return " + ".join(value)
    if field == "subtitles":
        return " ".join(sorted(value))
    return "yes" if value is True else str(value)


def name_of(case: Labelled) -> str:
    return case.title


@pytest.mark.parametrize("case", [*CHINESE, *LATIN], ids=name_of)
def test_a_title_means_what_its_label_says(case: Labelled) -> None:
    release = read_title(case.title).release
    wanted = {**dict.fromkeys(ALWAYS), **case.fields}
    assert {field: said(release, field) for field in wanted} == wanted


def test_there_are_enough_titles() -> None:
    assert len({case.title for case in [*CHINESE, *LATIN]}) >= 300
