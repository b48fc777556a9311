"""Templates of paths: what they may say is checked when they are saved."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headwater.anime.naming.library_path import EPISODE_TEMPLATE, FILM_TEMPLATE, build_naming
from headwater.anime.naming.template import BadTemplate, parse_template


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "A template has 1 to 512 characters."),
        ("x" * 600 + "{episode}", "A template has 1 to 512 characters."),
        ("{title}/../{episode}", "A part of the template is empty, . or .."),
        ("/{title}/{episode}", "A part of the template is empty, . or .."),
        ("{title}//{episode}", "A part of the template is empty, . or .."),
        ("{episode}/", "A part of the template is empty, . or .."),
        ("~/{episode}", "A part of the template begins with ~."),
        ("C:/{episode}", "':' cannot stand in a path everywhere."),
        ("{title}\\{episode}", "'\\\\' cannot stand in a path everywhere."),
        ("{episode}?", "'?' cannot stand in a path everywhere."),
        ("{episode}\n", "'\\n' cannot stand in a path everywhere."),
        ("{title.__class__}{episode}", "{title.__class__} is no field."),
        ("{title!r}{episode}", "{title!r} is no field."),
        ("{}{episode}", "{} is no field."),
        ("{season:99}{episode}", "{season:99} is no field."),
        ("{season:9}{episode}", "A number has at most 4 digits."),
        ("{path}{episode}", "{path} is no field."),
        ("{title", "A brace is not closed, or not opened."),
        ("title}{episode}", "A brace is not closed, or not opened."),
        ("<{title}{episode}", "A < is not closed in the same part."),
        ("<{title}/x>{episode}", "A < is not closed in the same part."),
        ("{title}>{episode}", "< and > do not match, or stand inside each other."),
        ("<<{title}>>{episode}", "< and > do not match, or stand inside each other."),
        ("<x>{episode}", "Nothing between < and > can be missing."),
        ("{title}", "The template needs {episode}, outside of < and >."),
        ("{title}<{episode}>", "The template needs {episode}, outside of < and >."),
        ("/".join("abcdefghi") + "{episode}", "A template has at most 8 parts."),
    ],
)
def test_a_template_that_cannot_name_files_is_refused(text: str, why: str) -> None:
    with pytest.raises(BadTemplate) as refused:
        parse_template(text, needs=("episode",))
    assert refused.value.message.startswith(why)
    assert refused.value.status == 422


@pytest.mark.parametrize(
    ("text", "values", "parts"),
    [
        ("{title}/{episode}", {"title": "A", "episode": 3}, ("A", "3")),
        ("{episode:02}", {"episode": 3}, ("03",)),
        ("{episode:3}", {"episode": 3}, ("003",)),
        ("{episode}< ({year})>", {"episode": 3, "year": 2025}, ("3 (2025)",)),
        ("{episode}< ({year})>", {"episode": 3, "year": None}, ("3",)),
        ("{episode}< {groups} {source}>", {"episode": 3, "groups": "[A]"}, ("3",)),
        ("{title} {episode}", {"title": "../a/b", "episode": 3}, ("..-a-b 3",)),
        ("{title} {episode}", {"title": "{year}", "episode": 3}, ("{year} 3",)),
    ],
)
def test_values_are_put_where_the_template_says(
    text: str, values: dict[str, str | int | None], parts: tuple[str, ...]
) -> None:
    assert parse_template(text, needs=("episode",)).rendered(values) == parts


def test_the_usual_templates_are_good() -> None:
    assert build_naming(episode=EPISODE_TEMPLATE, film=FILM_TEMPLATE).folder == ""


def test_a_template_for_episodes_must_tell_seasons_apart() -> None:
    with pytest.raises(BadTemplate):
        build_naming(episode="{title}/{episode}")


@settings(deadline=None)
@given(st.text(alphabet="{}<>/ab.:~0title", max_size=40))
def test_any_text_is_a_template_or_is_refused(text: str) -> None:
    try:
        made = parse_template(text, needs=())
    except BadTemplate:
        return
    assert len(made.rendered({"title": "x"})) == text.count("/") + 1
