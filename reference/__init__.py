"""Float64 mathematics of attention in NumPy: what every judged kernel is measured against.

One module a family, each with its formula and source. Imports nothing but NumPy.
"""
