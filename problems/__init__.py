"""The problems, one folder each (problem.py, statement.md, starter.cu, hints, submissions).

Folders with a leading underscore are no problems: `_families` holds what problems of one kernel interface
share, `_template` is what `judge new` copies.
"""
