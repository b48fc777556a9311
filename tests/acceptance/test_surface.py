"""The parts of the surface that are asked of a running Headwater: OpenAPI, metrics, schemas."""

import pytest

from tests.project.surface import PARTS_OF_A_SERVICE
from tests.support.servers import ENVIRONMENT_URL, Postgres


@pytest.mark.parametrize("title", sorted(PARTS_OF_A_SERVICE.keys() - {"schema of PostgreSQL"}))
def test_a_part_that_is_asked_of_a_service_is_not_empty(title: str) -> None:
    assert "".join(PARTS_OF_A_SERVICE[title]()).strip()


def test_the_schema_of_postgresql_is_not_empty(
    postgres: Postgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(ENVIRONMENT_URL, postgres.url)
    assert "".join(PARTS_OF_A_SERVICE["schema of PostgreSQL"]()).strip()
