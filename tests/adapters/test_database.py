"""One port over SQLite and PostgreSQL: transactions, marks, errors in plain words."""

import asyncio
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection

from headwater.adapters import database as adapter
from headwater.adapters.database import SqlDatabase, open_database
from headwater.adapters.sqlite import SqliteTransaction
from headwater.core.errors import BadSettings, ConnectionLost, DatabaseError, DatabaseRefused


async def counter(database: SqlDatabase) -> int:
    async with database.read() as view:
        row = await view.row("SELECT value FROM counters WHERE name = ?", "events")
        assert row is not None
        return int(row.value)


async def test_what_was_written_is_read(database: SqlDatabase) -> None:
    async with database.write() as tx:
        touched = await tx.run("UPDATE counters SET value = ? WHERE name = ?", 7, "events")
    assert touched == 1
    assert await counter(database) == 7


async def test_an_error_inside_takes_everything_back(database: SqlDatabase) -> None:
    async def half_a_transaction() -> None:
        async with database.write() as tx:
            await tx.run("UPDATE counters SET value = 7")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await half_a_transaction()
    assert await counter(database) == 0


async def test_many_rows_go_in_one_call(database: SqlDatabase) -> None:
    async with database.write() as tx:
        await tx.run_many(
            "INSERT INTO counters (name, value) VALUES (?, ?)", [(f"n{i}", i) for i in range(500)]
        )
        await tx.run_many("INSERT INTO counters (name, value) VALUES (?, ?)", [])
    async with database.read() as view:
        rows = await view.rows("SELECT name, value FROM counters WHERE value > ?", 497)
    assert sorted((row.name, row.value) for row in rows) == [("n498", 498), ("n499", 499)]


async def test_rows_are_there_for_whoever_asks_next_in_their_transaction(
    database: SqlDatabase,
) -> None:
    add, count = "INSERT INTO counters (name, value) VALUES (?, ?)", "SELECT count(*) FROM counters"
    async with database.write() as tx:
        await tx.run_many(add, [("a", 1), ("b", 2)])
        assert await tx.run("UPDATE counters SET value = 9 WHERE name IN ('a', 'b')") == 2
        await tx.run_many(add, [("c", 3)])
        await tx.run_many("UPDATE counters SET value = ? WHERE name = ?", [(8, "c")])
        rows = await tx.rows("SELECT name, value FROM counters WHERE name IN ('a', 'b', 'c')")
        assert sorted((row.name, row.value) for row in rows) == [("a", 9), ("b", 9), ("c", 8)]
        await tx.run_many("DELETE FROM counters WHERE name = ?", [("a",), ("b",)])
    async with database.read() as view:
        assert [
            tuple(row) for row in await view.rows(f"{count} WHERE name IN ('a', 'b', 'c')")
        ] == [(1,)]


async def test_one_bad_row_among_many_takes_everything_back(database: SqlDatabase) -> None:
    """Also where nothing is asked after it: the commit tells."""

    async def refused() -> None:
        async with database.write() as tx:
            await tx.run("UPDATE counters SET value = 7")
            await tx.run_many(
                "INSERT INTO counters (name, value) VALUES (?, ?)", [("a", 1), ("b", 2), ("a", 3)]
            )

    with pytest.raises(DatabaseRefused):
        await refused()
    assert await counter(database) == 0
    async with database.read() as view:
        assert await view.rows("SELECT name FROM counters WHERE name IN ('a', 'b')") == []
    await test_what_was_written_is_read(database)  # and the connection is as good as before


async def test_numbers_are_64_bits_wide(database: SqlDatabase) -> None:
    async with database.write() as tx:
        await tx.run("UPDATE counters SET value = ?", 2**62)
    assert await counter(database) == 2**62


async def test_bytes_and_nothing_come_back_as_they_went(database: SqlDatabase) -> None:
    async with database.write() as tx:
        await tx.run(
            "INSERT INTO idempotency (key_hash, request_hash, started_at, resource)"
            " VALUES (?, ?, ?, ?)",
            b"\x00\xff",
            b"",
            1,
            None,
        )
        row = await tx.row("SELECT key_hash, request_hash, resource FROM idempotency")
    assert row is not None
    assert tuple(row) == (b"\x00\xff", b"", None)


async def test_writers_in_one_process_queue_up(database: SqlDatabase) -> None:
    async def add_one() -> None:
        async with database.write() as tx:
            await tx.run("UPDATE counters SET value = value + 1 WHERE name = 'events'")

    await asyncio.gather(*(add_one() for _ in range(50)))
    assert await counter(database) == 50


async def test_closing_waits_for_whoever_uses_it(database: SqlDatabase) -> None:
    begun, go_on = asyncio.Event(), asyncio.Event()

    async def user() -> None:
        async with database.write() as tx:
            begun.set()
            await go_on.wait()
            await tx.run("UPDATE counters SET value = 7")

    using = asyncio.create_task(user())
    await begun.wait()
    closing = asyncio.create_task(database.close())
    done, _ = await asyncio.wait({closing}, timeout=0.1)
    assert not done
    go_on.set()
    await using
    await closing
    assert await counter(database) == 7


async def half_written(database: SqlDatabase) -> asyncio.Task[None]:
    """Somebody in the middle of a transaction that never ends by itself."""
    written = asyncio.Event()

    async def writer() -> None:
        async with database.write() as tx:
            await tx.run("UPDATE counters SET value = 7")
            written.set()
            await asyncio.Event().wait()

    writing = asyncio.create_task(writer())
    await written.wait()
    return writing


async def test_a_writer_that_is_cancelled_takes_everything_back(database: SqlDatabase) -> None:
    writing = await half_written(database)
    writing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await writing
    assert await counter(database) == 0


async def test_a_writer_that_is_cancelled_while_it_waits_for_another_holds_nothing_later(
    database: SqlDatabase, open_another: Callable[[], SqlDatabase]
) -> None:
    """Its statement is under way already, and takes the lock when nobody wants it any more."""
    other = open_another()

    async def add_one() -> None:
        async with database.write() as tx:
            await tx.run("UPDATE counters SET value = value + 1 WHERE name = 'events'")

    async with other.write() as tx:
        await tx.run("UPDATE counters SET value = 10 WHERE name = 'events'")
        waiting = asyncio.create_task(add_one())
        await asyncio.wait({waiting}, timeout=0.1)
        waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    async with asyncio.timeout(10), other.write() as tx:
        await tx.run("UPDATE counters SET value = value + 5 WHERE name = 'events'")
    await add_one()
    assert await counter(database) == 16


@pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)
async def test_a_connection_that_is_closed_while_it_is_used_is_lost(database: SqlDatabase) -> None:
    async def read_on() -> None:
        async with database.read() as view:
            assert isinstance(view, SqliteTransaction)
            await view._connection.do(sqlite3.Connection.close)
            await view.rows("SELECT 1")

    with pytest.raises(ConnectionLost, match="closed database"):
        await read_on()
    assert await counter(database) == 0


@pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)
async def test_a_transaction_that_ended_by_itself_is_not_taken_for_committed(
    database: SqlDatabase,
) -> None:
    """SQLite takes everything back by itself after some errors, a full disk for one."""

    async def write() -> None:
        async with database.write() as tx:
            await tx.run("UPDATE counters SET value = 7")
            await tx.run("ROLLBACK")

    with pytest.raises(DatabaseError, match="no transaction is active"):
        await write()
    assert await counter(database) == 0


async def test_rows_are_tuples_that_know_their_names(database: SqlDatabase) -> None:
    async with database.read() as view:
        (row,) = await view.rows("SELECT name, value AS count FROM counters WHERE name = 'events'")
    assert (row.name, row.count) == ("events", 0)
    assert tuple(row) == ("events", 0)
    assert row[-1] == 0
    assert row[:1] == ("events",)


async def test_a_refused_statement_is_told_in_our_words(database: SqlDatabase) -> None:
    with pytest.raises(DatabaseError, match="failed") as told:
        async with database.read() as view:
            await view.rows("SELECT nothing FROM nowhere")
    assert told.value.code == "database_error"


async def test_a_row_without_a_needed_value_is_refused(database: SqlDatabase) -> None:
    with pytest.raises(DatabaseRefused):
        async with database.write() as tx:
            await tx.run("INSERT INTO counters (name, value) VALUES (?, ?)", "x", None)


@pytest.mark.parametrize("dialect", ["postgresql"], indirect=True)
@pytest.mark.parametrize("name", [7, "a\0b"])
async def test_a_value_of_the_wrong_kind_is_refused(database: SqlDatabase, name: int | str) -> None:
    with pytest.raises(DatabaseRefused):
        async with database.write() as tx:
            await tx.run("INSERT INTO counters (name, value) VALUES (?, 1)", name)


async def test_a_database_that_cannot_be_reached_is_a_lost_connection() -> None:
    database = open_database("postgresql://nobody@127.0.0.1:1/none")
    with pytest.raises(ConnectionLost):
        async with database.read():
            pass
    await database.close()


async def test_foreign_keys_are_kept(database: SqlDatabase) -> None:
    with pytest.raises(DatabaseError):
        async with database.write() as tx:
            await tx.run(
                "INSERT INTO entry_aliases (feed_id, alias_key, alias_uid, uid_key, fetch_id,"
                " made_at) VALUES (12345, ?, 'a', ?, 'f', 1)",
                b"k",
                b"k",
            )


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("mysql://x/y", "names 'mysql'"),
        ("nonsense", "no ://"),
        ("sqlite://", "must name a file"),
        ("sqlite:///", "must name a file"),
        ("sqlite:///h.db?mode=ro", "must name a file"),
        ("sqlite:///:memory:", "must name a file"),
        ("postgresql://host:port/name", "its port is no number"),
    ],
)
def test_other_databases_are_refused(url: str, why: str) -> None:
    with pytest.raises(BadSettings, match=why):
        open_database(url)


def test_sqlite_goes_without_what_only_postgresql_and_migrations_need() -> None:
    """30 MB and half a second of every start."""
    look = "import headwater.wiring.app, sys; print({'sqlalchemy', 'alembic'} & {*sys.modules})"
    said = subprocess.run([sys.executable, "-c", look], capture_output=True, text=True, check=True)
    assert said.stdout == "set()\n"


async def test_a_file_is_named_as_in_any_url(tmp_path: Path) -> None:
    database = open_database(f"sqlite:///{tmp_path}/50%25%20of%20it%3F.db")
    await database.version()
    await database.close()
    assert (tmp_path / "50% of it?.db").exists()


async def test_places_are_given_back_when_no_thread_can_be_had(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    database = open_database(f"sqlite:///{tmp_path}/h.sqlite", pool_size=1, patience=0.1)
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refused)
        for _ in range(2):
            with pytest.raises(ConnectionLost, match="can't start new thread"):
                async with database.read():
                    pass
    assert await database.version() == sqlite3.sqlite_version
    await database.close()


@pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)
async def test_all_tasks_cancelled_in_the_middle_of_a_write_leave_nothing_open(
    database: SqlDatabase,
) -> None:
    """As at the end of a loop: whoever takes back is cancelled too, before it has begun."""

    def cancel_all_others() -> None:
        for each in asyncio.all_tasks() - {me}:
            each.cancel()

    me = asyncio.current_task()
    writing = await half_written(database)
    writing.cancel()
    asyncio.get_running_loop().call_soon(cancel_all_others)
    await asyncio.wait({writing})
    assert await counter(database) == 0
    async with database.write() as tx:
        await tx.run("UPDATE counters SET value = 1 WHERE name = 'events'")
    assert await counter(database) == 1


@pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)
async def test_a_view_that_could_not_begin_is_told_so(
    database: SqlDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not opened at first, and then read without a snapshot, it would change under our eyes."""
    real, tries = sqlite3.connect, 0

    def stumbling(*given: Any, **named: Any) -> sqlite3.Connection:
        nonlocal tries
        tries += 1
        if tries == 1:
            raise sqlite3.OperationalError("unable to open database file")
        opened: sqlite3.Connection = real(*given, **named)
        return opened

    monkeypatch.setattr(sqlite3, "connect", stumbling)
    with pytest.raises(ConnectionLost):
        async with database.read() as view:
            await view.rows("SELECT 1")
    async with database.read() as view:
        await view.rows("SELECT value FROM counters")
        async with database.write() as tx:
            await tx.run("UPDATE counters SET value = 7")
        (row,) = await view.rows("SELECT value FROM counters WHERE name = 'events'")
        assert row.value == 0


@pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)
async def test_a_migration_that_is_cancelled_is_over_when_that_is_told(
    database: SqlDatabase,
) -> None:
    begun, go_on = threading.Event(), threading.Event()

    def slowly(connection: Connection) -> None:
        begun.set()
        go_on.wait(10)
        connection.exec_driver_sql("UPDATE counters SET value = 7")

    migrating = asyncio.create_task(database.on_connection(slowly))
    await asyncio.to_thread(begun.wait, 10)
    migrating.cancel()
    done, _ = await asyncio.wait({migrating}, timeout=0.1)
    assert not done
    go_on.set()
    with pytest.raises(asyncio.CancelledError):
        await migrating
    assert await counter(database) == 7


async def test_what_comes_back_after_the_end_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(adapter, "CLOSING_SECONDS", 0.05)
    before, database = sqlite_threads(), open_database(f"sqlite:///{tmp_path}/h.sqlite")
    async with database.read() as view:
        await view.rows("SELECT 1")
        await database.close()
    for each in sqlite_threads() - before:
        await asyncio.to_thread(each.join, 10)
    assert sqlite_threads() <= before


def sqlite_threads() -> set[threading.Thread]:
    return {each for each in threading.enumerate() if each.name == "headwater-sqlite"}


async def test_no_thread_is_left_of_connections_that_are_closed_or_cannot_be_opened(
    tmp_path: Path,
) -> None:
    before = sqlite_threads()
    nowhere = open_database(f"sqlite:///{tmp_path}/no-such-folder/h.sqlite")
    for _ in range(3):
        with pytest.raises(ConnectionLost, match="cannot be opened"):
            async with nowhere.write():
                pass
        with pytest.raises(ConnectionLost, match="cannot be opened"):
            async with nowhere.read() as view:
                await view.rows("SELECT 1")
    await nowhere.close()
    here = open_database(f"sqlite:///{tmp_path}/h.sqlite")
    async with here.read() as one, here.read() as two:
        await one.rows("SELECT 1")
        await two.rows("SELECT 1")
        assert len(sqlite_threads() - before) >= 2
    await here.close()
    for each in sqlite_threads() - before:  # those that could not be opened end by themselves
        await asyncio.to_thread(each.join, 10)
    assert sqlite_threads() <= before


def test_many_may_open_a_new_file_at_the_same_moment(tmp_path: Path) -> None:
    """Each in a thread with a loop of its own, as processes that start together would."""

    async def open_it(url: str, together: threading.Barrier) -> str:
        pool = open_database(url)
        together.wait()
        try:
            return await pool.version()
        finally:
            await pool.close()

    with ThreadPoolExecutor(8) as threads:
        for number in range(25):
            url, together = f"sqlite:///{tmp_path}/new{number}.sqlite", threading.Barrier(8)
            opened = [
                threads.submit(lambda u, t: asyncio.run(open_it(u, t)), url, together)
                for _ in range(8)
            ]
            assert {each.result() for each in opened} == {sqlite3.sqlite_version}


@pytest.mark.parametrize("dialect", ["postgresql"], indirect=True)
async def test_whoever_stands_still_in_the_middle_of_a_transaction_holds_up_nobody_for_long(
    database_url: str, database: SqlDatabase
) -> None:
    """A frozen worker holds the lock on the event log's counter; the server takes it back."""
    frozen = open_database(database_url, idle_transaction_seconds=0.2)

    async def frozen_in_the_middle() -> None:
        async with frozen.write() as tx:
            await tx.run("UPDATE counters SET value = value + 7 WHERE name = 'events'")
            async with asyncio.timeout(10), database.write() as other:
                await other.run("UPDATE counters SET value = value + 1 WHERE name = 'events'")

    with pytest.raises(DatabaseError):
        await frozen_in_the_middle()
    assert await counter(database) == 1
    async with frozen.write() as tx:  # it may come back, with a connection of its own
        await tx.run("UPDATE counters SET value = value + 2 WHERE name = 'events'")
    await frozen.close()
    assert await counter(database) == 3
