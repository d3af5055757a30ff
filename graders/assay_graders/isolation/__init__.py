"""Programs of isolated grading: what runs in the driver's jail, and what in the worker's.

Pure standard library, relative imports only; nothing here is imported by the host but for its
constants and for what checks options. The driver holds the tests and never a candidate's source,
the worker the candidate and never a test. `protocol` names the words between them.
"""
