"""A check of the doctor: its state, and the advice that follows."""

from dataclasses import dataclass
from typing import Literal

CheckState = Literal["ok", "warning", "error"]


@dataclass(frozen=True, slots=True)
class Check:
    name: str
    state: CheckState
    saw: str
    todo: str = ""
