"""The catalogue of hostile submissions, as data, and what runs it: `judge selftest` and tests/redteam.

catalogue/*.toml   the rows, one file a kind of attack: what is submitted, what must come of it
rows.py            reads and checks them
recipes.py         what builds the sources that are too large to write down: large.py and odd.py
exercise.py        the small problem they are submitted to
trial.py           one row through the real pipeline, and everything that must hold of its report
selftest.py        all rows, several at a time
"""
