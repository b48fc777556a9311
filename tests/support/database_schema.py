"""The schema of a migrated database as sorted lines of text, from either kind of database."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import asyncpg

_POSTGRES_OBJECTS = {
    "relation": """
        SELECT c.relname, concat_ws(' ', c.relkind, c.relpersistence, c.reloptions::text) AS what
        FROM pg_class c
        WHERE c.relnamespace = 'public'::regnamespace AND c.relkind NOT IN ('i', 'I', 't')
    """,
    "column": """
        SELECT c.relname || '.' || a.attname, concat_ws(' ', a.attnum,
            format_type(a.atttypid, a.atttypmod), CASE WHEN a.attnotnull THEN 'NOT NULL' END,
            'DEFAULT ' || pg_get_expr(d.adbin, d.adrelid), nullif(a.attidentity, ''),
            nullif(a.attgenerated, ''), nullif(a.attstorage, t.typstorage)) AS what
        FROM pg_attribute a
        JOIN pg_class c ON c.oid = a.attrelid
        JOIN pg_type t ON t.oid = a.atttypid
        LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
        WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p', 'v', 'm')
            AND a.attnum > 0 AND NOT a.attisdropped
    """,
    "constraint": """
        SELECT coalesce(c.relname || '.', '') || n.conname, pg_get_constraintdef(n.oid) AS what
        FROM pg_constraint n LEFT JOIN pg_class c ON c.oid = n.conrelid
        WHERE n.connamespace = 'public'::regnamespace AND n.contype <> 'n'
    """,
    "index": "SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = 'public'",
    "view": "SELECT viewname, definition FROM pg_views WHERE schemaname = 'public'",
    "function": """
        SELECT p.proname, pg_get_functiondef(p.oid) FROM pg_proc p
        WHERE p.pronamespace = 'public'::regnamespace AND NOT EXISTS
            (SELECT 1 FROM pg_depend d WHERE d.objid = p.oid AND d.deptype = 'e')
    """,
    "trigger": "SELECT tgname, pg_get_triggerdef(oid) FROM pg_trigger WHERE NOT tgisinternal",
    "extension": "SELECT extname, '' FROM pg_extension",
}


def sqlite_schema(path: Path) -> Iterator[str]:
    with closing(sqlite3.connect(path)) as database:
        rows = database.execute("SELECT type, name, sql FROM sqlite_master").fetchall()
    for kind, name, definition in sorted(rows, key=str):
        yield _line(kind, name, definition or "made by SQLite")


async def postgres_schema(url: str) -> list[str]:
    connection = await asyncpg.connect(url)
    try:
        return sorted(
            [
                _line(kind, *row)
                for kind, query in _POSTGRES_OBJECTS.items()
                for row in await connection.fetch(query)
            ]
        )
    finally:
        await connection.close()


def _line(kind: str, name: str, definition: str) -> str:
    return f"{kind} {name}: {' '.join(definition.split())}"
