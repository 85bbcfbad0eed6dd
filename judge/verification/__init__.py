"""Deciding whether outputs are right, saying where they are not, and proving that a problem's cases can tell."""
