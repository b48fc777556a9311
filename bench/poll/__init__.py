"""Polling a thousand feeds: a bare download loop, a naive engine, and Headwater, in one run."""
