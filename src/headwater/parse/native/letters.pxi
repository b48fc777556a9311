# What single letters are, for both compiled parts.

cdef bint _is_blank(char letter) noexcept:
    return letter == 32 or letter == 10 or letter == 9 or letter == 13
