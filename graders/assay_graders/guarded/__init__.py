"""Programs of guarded grading: tests and candidate in one process that measures its own guards.

Pure standard library, relative imports only; nothing here is imported by the host.
"""
