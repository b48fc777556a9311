"""Headwater: a self-hosted feed engine. The tree is the journey of the data.

    subscribe → schedule → fetch → parse → merge → announce
    who wants   when to    bytes    a       what is  facts told
    what        visit      safely   document new     to others

`visit.py` is one feed's whole journey on one page. Data flows down the river, imports look up.
"""

__version__ = "0.1.0"
