"""`headwater releases parse`: titles from arguments and from stdin."""

import io
import json
import subprocess
import sys

from tests.entrypoints.cli.conftest import Shell

FIELDS = (
    "title titles groups season episode episode_end version kind batch resolution source subtitles"
).split()
NOBODY = Shell({"NO_COLOR": "1"})


def test_a_title_is_answered_as_one_object() -> None:
    done = NOBODY("releases", "parse", "--json", "[Lantern] Sea - 12.5 [1080p][简日双语]")
    assert done.code == 0
    assert {name: done.json[name] for name in FIELDS} == {
        "title": "Sea",
        "titles": ["Sea"],
        "groups": ["Lantern"],
        "season": None,
        "episode": 12.5,
        "episode_end": None,
        "version": None,
        "kind": None,
        "batch": False,
        "resolution": "1080p",
        "source": None,
        "subtitles": ["CHS", "JPN"],
    }


def test_each_line_of_stdin_is_answered_by_a_line() -> None:
    given = "[Lantern] Sea - 01\n\n[Lantern] Sea [02v2]\r\n第三季 03".encode()
    done = NOBODY("releases", "parse", "--json", "-", given=given)
    answers = [json.loads(line) for line in done.out.splitlines()]
    assert [(one["title"], one["episode"], one["version"]) for one in answers] == [
        ("Sea", 1, None),
        (None, None, None),
        ("Sea", 2, 2),
        ("第三季", 3, None),
    ]


def test_bytes_that_are_no_text_are_answered_too() -> None:
    done = NOBODY("releases", "parse", "--json", "-", given=b"[Lant\xffern] Sea - 01\n")
    assert (done.code, done.json["episode"]) == (0, 1)


def test_an_endless_line_is_one_line() -> None:
    given = b"[Lantern] Sea - 01 " + b"x" * 200_000 + b"\n[Lantern] Sea - 02\n"
    done = NOBODY("releases", "parse", "--json", "-", given=given)
    assert [json.loads(line)["episode"] for line in done.out.splitlines()] == [1, 2]


def test_with_a_trace_every_field_has_its_reason() -> None:
    done = NOBODY("releases", "parse", "--json", "--trace", "[Lantern] Sea - 01")
    assert done.json["trace"][0] == {
        "field": "episode",
        "value": "1",
        "text": "- 01",
        "rule": "number after a dash",
    }


def test_people_see_each_field_with_its_reason() -> None:
    done = NOBODY("releases", "parse", "[Lantern] Sea [02][1080p]")
    assert done.code == 0
    assert "number in brackets" in done.out
    assert "first bracket" in done.out


def test_control_characters_of_a_title_are_not_shown() -> None:
    done = NOBODY("releases", "parse", "[Lantern] S\x1b[31mea [02]")
    assert "\x1b" not in done.out


def test_an_answer_comes_before_the_next_title_is_given() -> None:
    command = [
        sys.executable,
        "-m",
        "headwater.entrypoints.cli.main",
        "releases",
        "parse",
        "--json",
        "-",
    ]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert isinstance(process.stdin, io.BufferedWriter)
        assert isinstance(process.stdout, io.BufferedReader)
        for number in (1, 2, 3):
            process.stdin.write(f"[Lantern] Sea - {number:02}\n".encode())
            process.stdin.flush()
            assert json.loads(process.stdout.readline())["episode"] == number
        process.stdin.close()
        assert process.wait(timeout=30) == 0
