"""A module that never finishes loading: a parse process told to use it never gets ready."""

import time

time.sleep(3600)
