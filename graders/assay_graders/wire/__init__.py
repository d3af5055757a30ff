"""The wire between a trusted driver and a worker that runs candidate code.

Pure standard library, relative imports only: the same modules are mounted into jails.
`faults` is what every breach raises, `frames` cuts a stream into messages, `text` is strict
JSON, `values` turns plain values into trees and back, `stdlib` knows the standard library's.
"""
