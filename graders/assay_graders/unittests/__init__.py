"""Programs that run unittest's test cases: pure standard library, relative imports only.

Two programs use them: the driver of this package, which runs tests and code under test in one
process, and the isolated driver's runner.
"""
