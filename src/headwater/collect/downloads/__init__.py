"""Downloads and the files of the library, in the database."""
