"""Versions of the compiled libraries: libcurl, which fetches, and SQLite, which stores."""

import sqlite3

import pycurl


def libcurl_version() -> str:
    return str(pycurl.version_info()[1])


def sqlite_version() -> str:
    return sqlite3.sqlite_version
