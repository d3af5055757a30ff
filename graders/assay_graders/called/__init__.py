"""The program that calls functions of a candidate; it runs in jails only.

Pure standard library, relative imports only, like the wire that it speaks.
"""
