# cython: language_level=3, binding=False
"""Lift long texts out before the XML library sees them: `lift.lifted`, and escaped texts too.

A text that is escaped (`&lt;p&gt;`) costs the XML library several times what it costs here. The
rule for sections holds for these too: a mark that is read as the whole of a text construct stood
where text may stand, and all marks must be read.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from cpython.mem cimport PyMem_Free, PyMem_Malloc
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.string cimport memchr, memcmp, memcpy

from headwater.parse.lift import LONGEST
from headwater.parse.lift import PLACEHOLDER as MARK
from headwater.parse.lift import NEAR
from headwater.parse.lift import READ_WHOLE
from headwater.parse.lift import SHORTEST

include "letters.pxi"

cdef Py_ssize_t _SHORTEST = SHORTEST, _LONGEST = LONGEST, _NEAR = NEAR
cdef Py_ssize_t _SHORTEST_ESCAPED = 200
cdef Py_ssize_t _LONGEST_MARK = 24
cdef bytes _MARK = MARK.encode()
cdef unsigned char _FIRST_OF_MARK = _MARK[0]
# `description`, `content:encoded`, `content`, `summary`
cdef list _NAMES = [tag[2:-1] for tag in READ_WHOLE]


def lifted(
    bytes document,
    Py_ssize_t shortest=_SHORTEST_ESCAPED,
    Py_ssize_t shortest_section=_SHORTEST,
):
    """The document with marks in the place of long texts, what they stand for, and where sections
    stood. Shorter ones than these are not worth the trouble."""
    return _Lifting(document, shortest, shortest_section).result()


cdef class _Lifting:
    cdef bytes document
    cdef const char* text
    cdef Py_ssize_t length, shortest, shortest_section
    cdef char* written
    cdef char* plain
    cdef Py_ssize_t size, done
    cdef dict texts
    cdef list places

    def __cinit__(self, bytes document, Py_ssize_t shortest, Py_ssize_t shortest_section):
        self.document = document
        # No text is shorter than the mark that stands for it.
        self.shortest = max(shortest, _LONGEST_MARK)
        self.shortest_section = max(shortest_section, _LONGEST_MARK)
        self.text, self.length = PyBytes_AS_STRING(document), PyBytes_GET_SIZE(document)
        self.texts, self.places = {}, []

    def __dealloc__(self):
        PyMem_Free(self.written)
        PyMem_Free(self.plain)

    cdef tuple result(self):
        if memchr(self.text, _FIRST_OF_MARK, self.length) == NULL:
            self.look()
        if not self.texts:
            return self.document, {}, []
        self.copy_until(self.length)
        return self.written[: self.size], self.texts, self.places

    cdef int look(self) except -1:
        """From tag to tag. What stands in comments is found out when its mark is not read."""
        cdef const char* end = self.text + self.length
        cdef const char* at = self.text
        cdef const char* begun = NULL  # where the text of an element of ours begins
        cdef bytes name = None
        while True:
            at = <const char*> memchr(at, 60, end - at)
            if at == NULL or end - at < 4:
                return 0
            if at[1] == 33:  # "!"
                at = self.section(at, end)
                begun = NULL
            elif at[1] == 47:  # "/"
                if begun != NULL and at - begun > self.shortest and _is_named(at + 2, end, name):
                    self.lift_escaped(begun, at)
                begun = NULL
                at += 2
            else:
                name = _name_at(at + 1, end)
                begun = NULL if name is None else _after_tag(at + 1, end)
                at += 1

    cdef const char* section(self, const char* at, const char* end) except NULL:
        """Behind a section, which is lifted when it is long and all that its element says."""
        cdef const char* start = at + 9
        cdef const char* close
        if end - at < 12 or memcmp(at, b"<![CDATA[", 9):
            return at + 2
        close = _section_end(start, end)
        if close == NULL:
            return end - 1
        if self.shortest_section < close - start < _LONGEST and self.is_whole(at, close + 3, end):
            self.lift_section(start, close)
        return close + 3

    cdef bint is_whole(self, const char* start, const char* close, const char* end) except -1:
        """Nothing but white space is between the section and the tags around it."""
        cdef const char* at = close
        while at < end and at - close < _NEAR and _is_blank(at[0]):
            at += 1
        if end - at < 2 or at[0] != 60 or at[1] != 47 or _closed_name(at + 2, end) is None:
            return False
        at = start - 1
        while at > self.text and start - at < _NEAR and _is_blank(at[0]):
            at -= 1
        return at > self.text and at[0] == 62

    cdef int lift_section(self, const char* start, const char* close) except -1:
        if not _is_legal(start, close - start):
            return 0
        try:
            text = PyUnicode_DecodeUTF8(start, close - start, NULL)
        except UnicodeDecodeError:
            return 0
        if memchr(start, 13, close - start) != NULL:
            text = text.replace("\r\n", "\n").replace("\r", "\n")
        self.put_mark(text, start - 9, close + 3)
        self.places.append((start - self.text, close - self.text))
        return 0

    cdef int lift_escaped(self, const char* start, const char* close) except -1:
        cdef Py_ssize_t size
        if close - start >= _LONGEST or memchr(start, 13, close - start) != NULL:
            return 0
        if _section_end(start, close) != NULL or not _is_legal(start, close - start):
            return 0
        if self.plain == NULL:
            self.plain = <char*> PyMem_Malloc(self.length)
            if self.plain == NULL:
                raise MemoryError
        size = _unescaped(start, close, self.plain)
        if size < 0:
            return 0
        try:
            text = PyUnicode_DecodeUTF8(self.plain, size, NULL)
        except UnicodeDecodeError:
            return 0
        self.put_mark(text, start, close)
        return 0

    cdef int put_mark(self, str text, const char* start, const char* close) except -1:
        cdef bytes mark = _MARK + b"%d" % len(self.texts)
        self.copy_until(start - self.text)
        memcpy(self.written + self.size, <const char*> mark, len(mark))
        self.size += len(mark)
        self.done = close - self.text
        self.texts[mark.decode()] = text
        return 0

    cdef int copy_until(self, Py_ssize_t place) except -1:
        """The output is never longer than the document: a mark is shorter than any text."""
        if self.written == NULL:
            self.written = <char*> PyMem_Malloc(self.length)
            if self.written == NULL:
                raise MemoryError
        memcpy(self.written + self.size, self.text + self.done, place - self.done)
        self.size += place - self.done
        return 0


cdef const char* _section_end(const char* at, const char* end) noexcept:
    """The next `]]>`; a single byte is found many times as fast as three."""
    while end - at > 2:
        at = <const char*> memchr(at, 93, end - at - 2)
        if at == NULL or (at[1] == 93 and at[2] == 62):
            return at
        at += 1
    return NULL


cdef bint _is_named(const char* at, const char* end, bytes name) noexcept:
    cdef Py_ssize_t length = PyBytes_GET_SIZE(name)
    if end - at <= length or memcmp(at, PyBytes_AS_STRING(name), length):
        return False
    return at[length] == 62


cdef bytes _closed_name(const char* at, const char* end):
    for name in _NAMES:
        if _is_named(at, end, name):
            return name
    return None


cdef bytes _name_at(const char* at, const char* end):
    """The name of a start tag, when it is one of ours."""
    cdef bytes name
    cdef Py_ssize_t length
    if at[0] != 99 and at[0] != 100 and at[0] != 115:  # "c", "d", "s"
        return None
    for name in _NAMES:
        length = PyBytes_GET_SIZE(name)
        if end - at > length and not memcmp(at, PyBytes_AS_STRING(name), length):
            if at[length] == 62 or _is_blank(at[length]):
                return name
    return None


cdef const char* _after_tag(const char* at, const char* end) noexcept:
    """Where what a start tag begins starts; NULL when it holds nothing, or no end is there."""
    cdef char quote = 0
    while at < end:
        if quote:
            if at[0] == quote:
                quote = 0
        elif at[0] == 34 or at[0] == 39:
            quote = at[0]
        elif at[0] == 60:
            return NULL
        elif at[0] == 62:
            return NULL if at[-1] == 47 else at + 1
        at += 1
    return NULL


cdef bint _is_legal(const char* start, Py_ssize_t length) noexcept:
    """No control character, no U+FFFE or U+FFFF: XML has neither."""
    cdef Py_ssize_t at
    cdef unsigned char letter, bad = 0
    cdef const char* found = start
    for at in range(length):
        letter = start[at]
        bad |= (letter < 32) & (letter != 9) & (letter != 10) & (letter != 13)
    if bad:
        return False
    while True:
        found = <const char*> memchr(found, 0xEF, length - (found - start))
        if found == NULL or length - (found - start) < 3:
            return True
        if <unsigned char> found[1] == 0xBF and <unsigned char> found[2] >= 0xBE:
            return False
        found += 1


cdef Py_ssize_t _unescaped(const char* at, const char* close, char* into) noexcept:
    """How many bytes were written; -1 when a reference is none that XML knows by itself."""
    cdef char* put = into
    cdef const char* mark
    cdef const char* ended
    cdef long code
    while True:
        mark = <const char*> memchr(at, 38, close - at)
        if mark == NULL:
            memcpy(put, at, close - at)
            return put - into + (close - at)
        memcpy(put, at, mark - at)
        put += mark - at
        ended = <const char*> memchr(mark, 59, min(close - mark, 12))
        if ended == NULL:
            return -1
        code = _meant(mark + 1, ended - mark - 1)
        if code < 0:
            return -1
        put = _put(code, put)
        at = ended + 1


cdef long _meant(const char* name, Py_ssize_t length) noexcept:
    """The character that a reference names, or -1."""
    if length == 2 and name[1] == 116:
        return 60 if name[0] == 108 else 62 if name[0] == 103 else -1
    if length == 3 and not memcmp(name, b"amp", 3):
        return 38
    if length == 4 and not memcmp(name, b"quot", 4):
        return 34
    if length == 4 and not memcmp(name, b"apos", 4):
        return 39
    return _numbered(name + 1, length - 1) if length > 1 and name[0] == 35 else -1


cdef long _numbered(const char* digits, Py_ssize_t length) noexcept:
    cdef long code = 0, digit
    cdef int base = 10
    cdef Py_ssize_t at
    if digits[0] == 120:  # "x"
        digits, length, base = digits + 1, length - 1, 16
    if not 0 < length < 9:
        return -1
    for at in range(length):
        digit = digits[at] - 48
        if base == 16 and digit > 9:
            digit = (digits[at] | 32) - 87
            if digit < 10:
                return -1
        if not 0 <= digit < base:
            return -1
        code = code * base + digit
    if code in (9, 10, 13) or 0x20 <= code <= 0xD7FF or 0xE000 <= code <= 0xFFFD:
        return code
    return code if 0x10000 <= code <= 0x10FFFF else -1


cdef char* _put(long code, char* at) noexcept:
    """In UTF-8, which is never longer than the reference was."""
    if code < 0x80:
        at[0] = code
        return at + 1
    if code < 0x800:
        at[0], at[1] = 0xC0 | code >> 6, 0x80 | code & 0x3F
        return at + 2
    if code < 0x10000:
        at[0], at[1], at[2] = 0xE0 | code >> 12, 0x80 | code >> 6 & 0x3F, 0x80 | code & 0x3F
        return at + 3
    at[0], at[1] = 0xF0 | code >> 18, 0x80 | code >> 12 & 0x3F
    at[2], at[3] = 0x80 | code >> 6 & 0x3F, 0x80 | code & 0x3F
    return at + 4
