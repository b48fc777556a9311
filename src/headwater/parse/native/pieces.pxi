# Pieces: texts of elements and attributes in libxml2's own memory, copied when they are kept.

cdef struct Piece:
    const char* start
    Py_ssize_t length


cdef bint _is_ascii(char letter) noexcept:
    return not letter & 0x80


cdef bint _holds_one_text(tree.xmlNode* node, Piece* piece) noexcept:
    """Whether an element holds one text or nothing: `piece`, without the blanks around it."""
    cdef tree.xmlNode* inside = node.children
    if inside == NULL:
        piece.start, piece.length = b"", 0
        return True
    if inside.next != NULL or inside.type not in (tree.XML_TEXT_NODE, tree.XML_CDATA_SECTION_NODE):
        return False
    _trim(<const char*> inside.content, piece)
    return True


cdef void _trim(const char* start, Piece* piece) noexcept:
    cdef Py_ssize_t length = 0 if start == NULL else strlen(start)
    while length and _is_blank(start[0]):
        start += 1
        length -= 1
    while length and _is_blank(start[length - 1]):
        length -= 1
    piece.start, piece.length = start, length


cdef str _said(Piece* piece):
    """The text as Python strips it: its white space has signs beyond ASCII too."""
    cdef str text = PyUnicode_DecodeUTF8(piece.start, piece.length, NULL)
    if piece.length and not (
        _is_ascii(piece.start[0]) and _is_ascii(piece.start[piece.length - 1])
    ):
        return text.strip()
    return text


cdef const char* _value_of(tree.xmlAttr* attribute) noexcept:
    """An attribute that is one text as it stands; NULL for all others."""
    cdef tree.xmlNode* inside = attribute.children
    if inside == NULL:
        return ""
    if inside.next != NULL or inside.type != tree.XML_TEXT_NODE or inside.content == NULL:
        return NULL
    return <const char*> inside.content


cdef tree.xmlAttr* _find(tree.xmlNode* node, const char* name) noexcept:
    cdef tree.xmlAttr* attribute = <tree.xmlAttr*> node.properties
    while attribute != NULL:
        if attribute.ns == NULL and not strcmp(<const char*> attribute.name, name):
            return attribute
        attribute = attribute.next
    return NULL


cdef str _given(tree.xmlNode* node, const char* name):
    """Does `element.get`."""
    cdef tree.xmlAttr* attribute = _find(node, name)
    return None if attribute == NULL else attributeValue(node, attribute)


cdef const char* _only_attribute(tree.xmlNode* node, const char* name) noexcept:
    """The value of the one attribute of an element, when that is its name; else NULL."""
    cdef tree.xmlAttr* attribute = <tree.xmlAttr*> node.properties
    if attribute.next != NULL or attribute.ns != NULL or strcmp(<const char*> attribute.name, name):
        return NULL
    return _value_of(attribute)


cdef bint[256] _IN_ADDRESS
cdef int _code
for _code in range(256):
    _IN_ADDRESS[_code] = fullmatch(f"[{links.IN_ADDRESS}]", chr(_code)) is not None


cdef bint _is_web(const char* start, Py_ssize_t length) noexcept:
    return length > 7 and (
        memcmp(start, b"http://", 7) == 0 or (length > 8 and memcmp(start, b"https://", 8) == 0)
    )


cdef bint _is_plain_address(const char* start, Py_ssize_t length) noexcept:
    """Whether an address is absolute, with a host, of URL characters only, as `links._PLAIN`."""
    cdef Py_ssize_t at
    cdef unsigned char first
    if not _is_web(start, length):
        return False
    at = 7 if start[4] == 58 else 8  # a colon, or the "s" before it
    first = start[at]
    if not (48 <= first <= 57 or 65 <= first <= 90 or 97 <= first <= 122):
        return False
    for at in range(at + 1, length):
        if not _IN_ADDRESS[<unsigned char> start[at]]:
            return False
    return True
