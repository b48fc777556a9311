"""What is installed is pinned by hash, and the pins name no machine and no address."""

import re
import tomllib

import pytest

from tests.support.source_tree import ROOT, imports, modules

FILES = (
    "requirements.txt",
    "requirements-dev.txt",
    "requirements-bench.txt",
    "requirements-setup.txt",
)
PIN = re.compile(r"^([a-z0-9-]+)==([^\s;]+)(?: ; [^\\]+)? \\$", re.MULTILINE)


def pins(name: str) -> dict[str, str]:
    return {found[1]: found[2] for found in PIN.finditer((ROOT / name).read_text())}


def plain(requirement: str) -> str:
    return re.split(r"[\[<>=;! ]", requirement, maxsplit=1)[0].lower().replace("_", "-")


@pytest.mark.parametrize("name", FILES)
def test_every_pin_has_hashes_and_no_address(name: str) -> None:
    text = (ROOT / name).read_text()
    for line in text.splitlines():
        known = line.startswith(("    --hash=sha256:", "    # ")) or PIN.match(line)
        assert known, f"{name}: unexpected line {line!r}"
    for stop in ("://", "--index", "--find-links", " /", " @ ", "file:"):
        assert stop not in text, f"{name} has {stop!r} in it"
    for entry in re.split(r"\n(?=[a-z])", text.strip()):
        assert "--hash=sha256:" in entry, f"{name}: no hash for {entry.splitlines()[0]}"


def test_what_is_tested_is_what_runs() -> None:
    runtime, dev = pins("requirements.txt"), pins("requirements-dev.txt")
    assert {name: dev.get(name) for name in runtime} == runtime
    bench = pins("requirements-bench.txt")
    shared = dev.keys() & bench.keys()
    assert {name: bench[name] for name in shared} == {name: dev[name] for name in shared}


def test_every_declared_dependency_is_pinned() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert {plain(r) for r in project["project"]["dependencies"]} <= pins("requirements.txt").keys()
    groups = project["dependency-groups"]
    assert {plain(r) for r in groups["dev"]} <= pins("requirements-dev.txt").keys()
    assert {plain(r) for r in groups["setup"]} <= pins("requirements-setup.txt").keys()


def test_every_runtime_dependency_has_its_reason_written_down() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    reasons = (ROOT / "docs" / "decisions" / "007-runtime-dependencies.md").read_text()
    unexplained = [
        name for r in project["project"]["dependencies"] if f"`{(name := plain(r))}`" not in reasons
    ]
    assert unexplained == []


IMPORTED_AS = {
    "google-re2": "re2",
    "grpcio": "grpc",
    "nats-py": "nats",
    "protobuf": "google.protobuf",
}
LOADED_BY_OTHERS = {"asyncpg", "httptools"}
"""SQLAlchemy and uvicorn load these by the name that we give them."""


def imported_modules() -> set[str]:
    """With the packages around them."""
    names = [dotted.split(".") for module in modules() for _, dotted in imports(module)]
    return {".".join(parts[:end]) for parts in names for end in range(1, len(parts) + 1)}


def test_every_runtime_dependency_is_used() -> None:
    """What nothing imports is only one more package that somebody could take over."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    declared = {plain(r) for r in project["project"]["dependencies"]} - LOADED_BY_OTHERS
    modules = {name: IMPORTED_AS.get(name, name.replace("-", "_")) for name in declared}
    imported = imported_modules()
    assert [name for name, module in sorted(modules.items()) if module not in imported] == []


BROUGHT_ALONG = set(
    "annotated-doc annotated-types anyio async-timeout cffi click colorama greenlet h11 hiredis"
    " idna mako markdown-it-py markupsafe mdurl opentelemetry-api pycparser pydantic pydantic-core"
    " pygments python-dotenv shellingham starlette typing-extensions typing-inspection".split()
)
"""What our dependencies need themselves: a name that is new here is looked at by a person."""


def test_no_package_comes_along_that_nobody_looked_at() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    declared = {plain(r) for r in project["project"]["dependencies"]}
    assert pins("requirements.txt").keys() - declared == BROUGHT_ALONG
