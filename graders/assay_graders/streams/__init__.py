"""Grading programs by what goes in and what comes out.

`cases` reads what a program is given and what it must write, `compare` holds one output against
the other. Neither ever runs anything.
"""
