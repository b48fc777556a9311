"""One file per step; the file name says what it brings."""
