# cython: language_level=3, binding=False
"""The plain elements of entries, read from libxml2's own tree.

Nearly all elements of nearly all feeds are of a dozen kinds and hold one text and no more. Those
are read here, with exactly the same result as by their readers in Python. All others (tags inside,
other attributes, a limit reached, an address that needs a URL parser) are left to the reader in
Python, which decides what an element means.
"""

cimport cython
from cpython.datetime cimport datetime_new, import_datetime
from cpython.mem cimport PyMem_Free, PyMem_Malloc
from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.string cimport memchr, memcmp, strcmp, strlen
from lxml.includes cimport etreepublic, tree
from lxml.includes.etreepublic cimport (
    LXML_VERSION_STRING,
    _Document,
    _Element,
    attributeValue,
    elementFactory,
    import_lxml__etree,
    namespacedName,
)

from datetime import UTC
from re import fullmatch

from lxml import etree

from headwater.parse import entry_elements as entry
from headwater.parse import extensions
from headwater.parse import links
from headwater.parse import media
from headwater.parse import people
from headwater.parse import categories as terms
from headwater.parse.dates import OFFSET_BY_ZONE as EAST
from headwater.parse.dates import parse_date as parsed_date
from headwater.parse.document import Category
from headwater.parse.document import Content
from headwater.parse.document import Enclosure
from headwater.parse.document import Entry
from headwater.parse.document import Link
from headwater.parse.document import Text
from headwater.parse.draft import EntryDraft
from headwater.parse.draft import DraftNotes as Spare
from headwater.parse.lift import PLACEHOLDER as MARK
from headwater.parse.links import PAGES
from headwater.parse.links import USUAL_RELATIONS
from headwater.parse.links import add_enclosure
from headwater.parse.links import byte_count
from headwater.parse.links import media_type
from headwater.parse.namespaces import split_name
from headwater.parse.people import NESTED_PERSON as WITHIN
from headwater.parse.relative_links import with_absolute_links
from headwater.parse.text import looks_like_html
from headwater.parse.text import cut_body as within

cdef extern from "Python.h":
    ctypedef struct PyTypeObject:
        pass
    object PyType_GenericAlloc(PyTypeObject* kind, Py_ssize_t items)

cdef extern from *:
    """
    #define PLACES 64
    """
    enum: PLACES

import_lxml__etree()
import_datetime()

if LXML_VERSION_STRING.decode() != etree.__version__:
    raise ImportError("headwater.parse.native was compiled for another version of lxml")

include "letters.pxi"
include "values.pxi"
include "pieces.pxi"
include "moments.pxi"
include "names.pxi"
include "constructs.pxi"
include "addresses.pxi"
include "facts.pxi"


@cython.final
cdef class EntryReader:
    """Reads the children of the entries of one document."""

    cdef object context, readers, relative, base, language
    cdef dict lifted, people, terms
    cdef bint is_atom, has_base
    cdef Py_ssize_t title_chars, link_bytes, guid_bytes, text_chars, date_chars, short_enough
    cdef Py_ssize_t most_contents, most_links, most_categories, most_extensions, most_thumbnails
    cdef list names

    def __cinit__(self, context, readers):
        limits = context.limits
        self.context, self.readers = context, readers
        self.relative, self.base = context.relative, context.base
        self.lifted, self.people, self.terms = context.lifted, context.people, context.terms
        self.is_atom, self.has_base = context.is_atom, context.has_base
        self.title_chars, self.link_bytes = limits.title_chars, limits.link_bytes
        self.guid_bytes, self.text_chars = limits.guid_bytes, limits.text_chars
        self.date_chars, self.short_enough = limits.date_chars, context.short_enough
        self.most_contents, self.most_links = limits.contents, limits.links
        self.most_categories, self.most_extensions = limits.categories, limits.extension_values
        self.most_thumbnails = limits.thumbnails
        self.names = [None] * PLACES

    def draft(self):
        return _DRAFT.another()

    def spare(self):
        return _SPARE.another()

    def read(self, draft, _Element element, language):
        """All children of an entry in their order; `language` is the entry's."""
        cdef _Document document = element._doc
        cdef tree.xmlNode* node = element._c_node.children
        cdef _Name name
        spare = self.context.spare
        self.language = language
        while node != NULL:
            if node.type == tree.XML_ELEMENT_NODE:
                name = self.name_of(node)
                if name.kind == OTHER or not self.is_read(name, node, draft, spare):
                    name.reader(draft, elementFactory(document, node), self.context)
            elif etreepublic._isElement(node):
                child = elementFactory(document, node)
                self.readers[child.tag](draft, child, self.context)
            node = node.next

    cdef _Name name_of(self, tree.xmlNode* node):
        """Names are few, and libxml2 keeps each once: looked for where its address says."""
        cdef size_t address = <size_t> node.name ^ (<size_t> node.ns >> 4)
        cdef Py_ssize_t place = (address ^ (address >> 6)) % PLACES
        cdef _Name name = self.names[place]
        if name is not None and name.names(node):
            return name
        name = self.names[place ^ 1]
        if name is not None and name.names(node):
            return name
        name = _name_of(node, self.readers)
        self.names[place ^ (self.names[place] is not None)] = name
        return name

    cdef bint is_read(self, _Name name, tree.xmlNode* node, draft, spare) except -1:
        """False when the reader in Python has to look, which then finds nothing done yet."""
        cdef Piece piece
        cdef Kind kind = name.kind
        if not _holds_one_text(node, &piece):
            return kind == AUTHOR and _is_known_person(self, node, draft)
        if kind == PUBLISHED or kind == UPDATED or kind == ISSUED or kind == DATE:
            return _read_date(self, kind, &piece, draft)
        if kind == AUTHOR:
            return _read_author(self, &piece, draft)
        if kind == LINK:
            return _read_link(self, node, &piece, draft, spare)
        if kind == GUID:
            return _read_guid(self, node, &piece, draft, spare)
        if kind == ID:
            return _read_id(self, &piece, draft, spare)
        if kind == ENCLOSURE:
            return _read_enclosure(self, node, draft)
        if kind == MEDIA:
            return _read_media(self, node, draft)
        if kind == THUMBNAIL:
            return _read_thumbnail(self, node, draft)
        if kind == COMMENTS:
            return _read_comments(self, &piece, draft)
        if kind == CATEGORY:
            return node.properties == NULL and _read_category(self, &piece, spare)
        if kind == EXTENSION:
            return node.properties == NULL and _read_extension(self, name, &piece, draft, spare)
        if self.has_base:
            return False
        if kind == TITLE:
            return _read_title(self, node, &piece, draft, spare)
        if kind == DESCRIPTION or kind == SUMMARY:
            return _read_summary(self, name, node, &piece, draft, spare)
        return _read_content(self, kind, node, &piece, draft)
