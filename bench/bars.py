"""What Headwater must reach in a measurement, and whether it did."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Bar:
    """Something Headwater must reach."""

    what: str
    found: float
    wanted: float
    at_most: bool = False

    @property
    def is_met(self) -> bool:
        return self.found <= self.wanted if self.at_most else self.found >= self.wanted

    @property
    def figure(self) -> str:
        """What was found, where it is held to nothing."""
        return f"  {self.what:<58} {self.found:8.2f}"

    @property
    def in_words(self) -> str:
        sign = "≤" if self.at_most else "≥"
        verdict = "met" if self.is_met else "MISSED"
        return f"{self.figure}   bar {sign} {self.wanted:g}   {verdict}"
