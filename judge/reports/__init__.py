"""Renderings of a report: text for people, JSON for programs. Nothing here decides anything."""
