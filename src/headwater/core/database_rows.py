"""Ask the database about itself: whether it answers, its version, and its clock."""

from headwater.core.ports import View

_NOW = {
    "sqlite": "SELECT (julianday('now') - 2440587.5) * 86400.0 AS now",
    "postgresql": "SELECT extract(epoch FROM clock_timestamp())::float8 AS now",
}


async def check_database_answers(view: View) -> None:
    """Raise the error of the database when it does not answer."""
    await view.row("SELECT 1 AS one")


async def get_database_version(view: View) -> str:
    function = (
        "sqlite_version()" if view.dialect == "sqlite" else "current_setting('server_version')"
    )
    row = await view.row(f"SELECT {function} AS version")
    assert row is not None
    return f"{view.dialect} {row.version}"


async def get_database_time(view: View) -> float:
    """Return the time of the database's own clock, in seconds since 1970."""
    row = await view.row(_NOW[view.dialect])
    assert row is not None
    return float(row.now)
