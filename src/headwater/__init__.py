"""Headwater: a self-hosted feed engine. One folder is one product area: ARCHITECTURE.md.

`feeds/visit.py` is one feed's whole journey on one page.
"""

__version__ = "0.1.0"
