"""Parse bytes to a document: feeds of all formats in one shape, without any I/O.

>>> from headwater.parse import parse
>>> parse(b"<rss><channel><title>News</title></channel></rss>").feed.title.value
'News'
"""

from headwater.parse.document import (
    Category,
    Cloud,
    Content,
    Document,
    Enclosure,
    Entry,
    Feed,
    Fragment,
    Link,
    Person,
    Problem,
    Source,
    Text,
)
from headwater.parse.identity import IdentityMemory, identify
from headwater.parse.limits import ParseLimits
from headwater.parse.parser import parse, parse_fragment

__all__ = [
    "Category",
    "Cloud",
    "Content",
    "Document",
    "Enclosure",
    "Entry",
    "Feed",
    "Fragment",
    "IdentityMemory",
    "Link",
    "ParseLimits",
    "Person",
    "Problem",
    "Source",
    "Text",
    "identify",
    "parse",
    "parse_fragment",
]
