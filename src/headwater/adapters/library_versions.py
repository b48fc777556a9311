"""Versions of the compiled libraries that fetch and keep, for those who look after them."""

import sqlite3

import pycurl


def libcurl_version() -> str:
    return str(pycurl.version_info()[1])


def sqlite_version() -> str:
    return sqlite3.sqlite_version
