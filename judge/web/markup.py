"""Statements and hints as HTML: Markdown without raw HTML, formulas kept as TeX beside their plain text.

A formula becomes <span class="math" data-tex="...">plain text</span>: readable as it is, and set properly where
JavaScript runs. What comes out is cleaned once more, so that not even a broken problem brings markup of its own.
"""

import re
from functools import lru_cache
from html import escape

import nh3
from markdown_it import MarkdownIt
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token
from markupsafe import Markup

from judge.reports.mathtext import plain_math

_FORMULA = re.compile(r"\$\$(?P<block>[^$]+)\$\$|\$(?P<inline>[^$\n]+)\$")
_TAGS = {
    "p", "h2", "h3", "h4", "ul", "ol", "li", "strong", "em", "code", "pre", "span", "a", "blockquote", "hr", "br",
    "table", "thead", "tbody", "tr", "th", "td", "div",
}  # fmt: skip
_ATTRIBUTES = {
    "span": {"class", "data-tex", "data-display"},
    "a": {"href"},
    "code": {"class"},
    "div": {"class", "tabindex"},
    "pre": {"tabindex"},
    "ol": {"start"},
}


@lru_cache(maxsize=64)
def render_markdown(text: str) -> Markup:
    """HTML of a statement or hint; its title, the heading of the first level, is left to the page."""
    body = re.sub(r"\A# .*\n", "", text)
    html = nh3.clean(_reader().render(body), tags=_TAGS, attributes=_ATTRIBUTES, link_rel="noopener noreferrer")
    html = html.replace("<table>", '<div class="scroll" tabindex="0"><table>').replace("</table>", "</table></div>")
    # A column without a name is no header to a screen reader.
    html = html.replace("<th></th>", "<td></td>")
    return Markup(html.replace("<pre>", '<pre tabindex="0">'))


def has_math(text: str) -> bool:
    """Whether a page with this text has formulas to set."""
    return _FORMULA.search(text) is not None


@lru_cache(maxsize=1)
def _reader() -> MarkdownIt:
    reader = MarkdownIt("commonmark", {"html": False}).enable("table")
    # Before escapes: in TeX a backslash is no escape of Markdown's.
    reader.inline.ruler.before("escape", "formula", _read_formula)
    reader.add_render_rule("formula", _render_formula)
    return reader


def _read_formula(state: StateInline, silent: bool) -> bool:
    found = _FORMULA.match(state.src, state.pos) if state.src[state.pos] == "$" else None
    if found is None:
        return False
    if not silent:
        token = state.push("formula", "", 0)
        token.content = (found["block"] or found["inline"]).strip()
        token.markup = "$$" if found["block"] else "$"
    state.pos = found.end()
    return True


def _render_formula(_self: object, tokens: list[Token], index: int, _options: object, _env: object) -> str:
    token = tokens[index]
    display = ' data-display="yes"' if token.markup == "$$" else ""
    kind = "math block" if display else "math"
    shown = escape(" ".join(plain_math(token.content).split()))
    return f'<span class="{kind}" data-tex="{escape(token.content)}"{display}>{shown}</span>'
