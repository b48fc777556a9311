"""Whole visits, for this folder and those below it."""

from tests.support.visits import river as river
