"""Grading by calls: cases as data, answers as data, the verdict where no candidate code is.

`document` reads strict JSON of hidden files, `cases` gives it meaning, `generate` draws inputs,
`conversation` talks to a jailed process, `judging` compares. Expected values stay on the side
of the grader; a worker is told inputs only.
"""
