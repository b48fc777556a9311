# Dates in the two shapes that nearly all feeds write; all others are left to `dates`.

cdef int _number(const char* start, int count) noexcept:
    """The number of so many digits; -1 when one is no digit."""
    cdef int found = 0, at
    for at in range(count):
        if not 48 <= start[at] <= 57:
            return -1
        found = found * 10 + start[at] - 48
    return found


cdef bint _are_letters(const char* three) noexcept:
    cdef int at
    for at in range(3):
        if not 97 <= (three[at] | 32) <= 122:
            return False
    return True


cdef int _month(const char* name) noexcept:
    cdef int at
    cdef const char* names = b"JanFebMarAprMayJunJulAugSepOctNovDec"
    for at in range(12):
        if memcmp(name, names + 3 * at, 3) == 0:
            return at + 1
    return -1


cdef object _moment(int year, int month, int day, const char* clock, str zone):
    """None when these make no moment, or one that needs a second look."""
    cdef int hour = _number(clock, 2), minute = _number(clock + 3, 2)
    cdef int second = _number(clock + 6, 2)
    if clock[2] != 58 or clock[5] != 58:
        return None
    if not (0 <= hour < 24 and 0 <= minute < 60 and 0 <= second < 60):
        return None
    if year <= 1900 or not 1 <= month <= 12 or not 1 <= day <= 28 + 3 * (month != 2):
        return None
    east = EAST.get(zone)
    if east is None:
        return None
    try:
        found = datetime_new(year, month, day, hour, minute, second, 0, UTC)
        return found - east if east else found
    except (ValueError, OverflowError):  # the 31st of a month that has 30 days; the year 10000
        return None


cdef object _date(Piece* piece, str text):
    """Does `parse_date`. The two shapes that nearly all feeds write are read here."""
    cdef const char* s = piece.start
    found = None
    if piece.length > 18 and s[4] == 45 and s[7] == 45 and s[10] == 84:
        found = _moment(_number(s, 4), _number(s + 5, 2), _number(s + 8, 2), s + 11, text[19:])
    elif piece.length > 26 and s[3] == 44 and s[4] == s[7] == s[11] == s[16] == s[25] == 32:
        if _are_letters(s) and memchr(s + 26, 32, piece.length - 26) == NULL:
            found = _moment(_number(s + 12, 4), _month(s + 8), _number(s + 5, 2), s + 17, text[26:])
    return parsed_date(text) if found is None else found
