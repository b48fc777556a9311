# Values of the document, filled in their places without a call of Python.

cdef class _Form:
    """How objects of a class with slots are filled: its fields in order, and where each stands."""

    cdef object kind
    cdef Py_ssize_t count
    cdef Py_ssize_t* places

    def __cinit__(self, kind, names):
        self.kind = kind
        self.count = len(names)
        self.places = <Py_ssize_t*> PyMem_Malloc(self.count * sizeof(Py_ssize_t))
        if self.places == NULL:
            raise MemoryError
        for at, place in enumerate(_places(kind, names)):
            self.places[at] = place

    def __dealloc__(self):
        PyMem_Free(self.places)

    cdef object blank(self):
        return PyType_GenericAlloc(<PyTypeObject*> <PyObject*> self.kind, 0)

    cdef object value(self, object made, Py_ssize_t field):
        return <object> (<PyObject**> ((<char*> <PyObject*> made) + self.places[field]))[0]

    cdef void put(self, object made, Py_ssize_t field, object value) noexcept:
        """Into a field of an object that was made just now: nothing is in it yet."""
        Py_INCREF(value)
        (<PyObject**> ((<char*> <PyObject*> made) + self.places[field]))[0] = <PyObject*> value


cdef list _places(kind, names):
    """Where the fields of this class stand in its objects, found by looking."""
    cdef Py_ssize_t size = kind.__basicsize__
    cdef PyObject** words
    found = []
    for name in names:
        sample, mark = kind.__new__(kind), object()
        object.__setattr__(sample, name, mark)
        words = <PyObject**> <PyObject*> sample
        at = [i for i in range(2, size // sizeof(PyObject*)) if words[i] == <PyObject*> mark]
        if len(at) != 1:
            raise ImportError(f"{kind.__name__} is not laid out as expected")
        found.append(at[0] * sizeof(PyObject*))
    return found


cdef _Form _TEXT = _Form(Text, ("value", "type"))
cdef _Form _CONTENT = _Form(Content, ("value", "type", "src", "language"))
cdef _Form _LINK = _Form(Link, ("href", "rel", "type", "title", "length", "hreflang"))
cdef _Form _ENCLOSURE = _Form(
    Enclosure, ("url", "type", "length", "duration", "title", "medium")
)
cdef _Form _CATEGORY = _Form(Category, ("term", "scheme", "label"))


cdef object _text(str value, str kind):
    made = _TEXT.blank()
    _TEXT.put(made, 0, value)
    _TEXT.put(made, 1, kind)
    return made


cdef object _content(str value, str kind, language):
    made = _CONTENT.blank()
    _CONTENT.put(made, 0, value)
    _CONTENT.put(made, 1, kind)
    _CONTENT.put(made, 2, None)
    _CONTENT.put(made, 3, language)
    return made


cdef object _link(str href, str rel, kind, title, length, hreflang):
    made = _LINK.blank()
    _LINK.put(made, 0, href)
    _LINK.put(made, 1, rel)
    _LINK.put(made, 2, kind)
    _LINK.put(made, 3, title)
    _LINK.put(made, 4, length)
    _LINK.put(made, 5, hreflang)
    return made


cdef object _enclosure(str url, kind, length, duration, title, medium):
    made = _ENCLOSURE.blank()
    _ENCLOSURE.put(made, 0, url)
    _ENCLOSURE.put(made, 1, kind)
    _ENCLOSURE.put(made, 2, length)
    _ENCLOSURE.put(made, 3, duration)
    _ENCLOSURE.put(made, 4, title)
    _ENCLOSURE.put(made, 5, medium)
    return made


cdef object _category(str term):
    made = _CATEGORY.blank()
    _CATEGORY.put(made, 0, term)
    _CATEGORY.put(made, 1, None)
    _CATEGORY.put(made, 2, None)
    return made


cdef class _Template:
    """Objects that begin alike. Dictionaries are each one's own."""

    cdef _Form form
    cdef tuple values

    def __init__(self, kind):
        sample, names = kind(), tuple(kind.__slots__)
        self.form = _Form(kind, names)
        self.values = tuple([getattr(sample, name) for name in names])

    cdef object another(self):
        cdef Py_ssize_t field
        made = self.form.blank()
        for field in range(self.form.count):
            value = self.values[field]
            self.form.put(made, field, {} if type(value) is dict else value)
        return made


cdef _Template _DRAFT = _Template(EntryDraft)
cdef _Template _SPARE = _Template(Spare)
cdef _Form _ENTRY = _Form(Entry, tuple(EntryDraft.__slots__))


def finished_entries(drafts, uids):
    """Entries with the values of the drafts, and named."""
    cdef _Form draft_form = _DRAFT.form
    cdef Py_ssize_t field
    finished = []
    for draft, uid in zip(drafts, uids, strict=True):
        if type(draft) is not EntryDraft:
            raise TypeError(f"{type(draft).__name__} is no draft of an entry")
        draft.uid = uid
        made = _ENTRY.blank()
        for field in range(draft_form.count):
            _ENTRY.put(made, field, draft_form.value(draft, field))
        finished.append(made)
    return tuple(finished)
