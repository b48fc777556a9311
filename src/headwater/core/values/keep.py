"""KEEP: the value of a field that a change leaves as it is."""

from enum import Enum
from typing import Final


class Keep(Enum):
    """`KEEP` stands for "as it is" where None already means "back to the default"."""

    KEEP = "keep"


KEEP: Final = Keep.KEEP
