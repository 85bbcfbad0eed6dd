"""A badge as SVG: two fields of text, readable without colors, nothing loaded from anywhere."""

from html import escape

from judge.verdict import Verdict

CHARACTER_PX = 7
PADDING_PX = 10
_GREEN, _RED, _GRAY = "#1a7f37", "#b3261e", "#5f6368"


def render_badge(problem: str, verdict: Verdict | None) -> str:
    """verdict: None when there is no public submission."""
    right = "no submission" if verdict is None else verdict.label.lower()
    color = _GRAY if verdict is None else _GREEN if verdict is Verdict.ACCEPTED else _RED
    widths = [CHARACTER_PX * len(text) + 2 * PADDING_PX for text in (problem, right)]
    total = sum(widths)
    title = escape(f"{problem}: {right}")
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{total}" height="20" role="img" aria-label="{title}">'
        f"<title>{title}</title>"
        f'<rect width="{widths[0]}" height="20" fill="#24292f"/>'
        f'<rect x="{widths[0]}" width="{widths[1]}" height="20" fill="{color}"/>'
        f'<g fill="#fff" text-anchor="middle" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">'
        f'<text x="{widths[0] / 2:g}" y="14">{escape(problem)}</text>'
        f'<text x="{widths[0] + widths[1] / 2:g}" y="14">{escape(right)}</text></g></svg>\n'
    )
