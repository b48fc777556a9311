"""Items that were cleaned already: many readers see the same ones, and cleaning takes a while."""

from collections import OrderedDict
from collections.abc import Iterable, Mapping

from headwater.publish.item import Item
from headwater.values.personal import KeptItem

ITEM_BYTES = 2_048
"""What is remembered of an item beside its words, roughly."""


class CleanItems:
    """By the item itself with all its words: other words are another item."""

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self._items: OrderedDict[KeptItem, Item] = OrderedDict()
        self.size = 0

    def known(self, wanted: Iterable[KeptItem]) -> dict[KeptItem, Item]:
        """Those of them that are remembered."""
        found: dict[KeptItem, Item] = {}
        for kept in wanted:
            if (item := self._items.get(kept)) is not None:
                self._items.move_to_end(kept)
                found[kept] = item
        return found

    def keep(self, cleaned: Mapping[KeptItem, Item]) -> None:
        """What was asked for longest ago goes when there are too many."""
        for kept, item in cleaned.items():
            if kept not in self._items:
                self._items[kept] = item
                self.size += _size(kept)
        while self.size > self._most_bytes:
            self.size -= _size(self._items.popitem(last=False)[0])


def _size(kept: KeptItem) -> int:
    """Both as it was given and clean, which is about as long; a letter may take four bytes."""
    words = len(kept.title) + len(kept.description) + len(kept.link) + len(kept.content or "")
    return ITEM_BYTES + 4 * words
