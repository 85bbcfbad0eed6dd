"""PTX text to tokens, by one regular expression.

A token is a plain string; its first character tells its kind:
- letter, `_`, `$` or `%`: a name with its dotted suffixes ("ld.global.v4.f32", "%tid.x");
- digit: a number; `"`: a string; `.`: a directive or a suffix that stands apart;
- anything else: one punctuation character.

A whole `.section NAME {...}` is one token: with -G the debug sections are nine tenths of the text,
and nothing in them is code.
"""

import re

# No alternative can fail after a long run: comments, sections and strings that never end are tokens too,
# so that hostile text costs linear time.
_TOKEN = re.compile(
    r"""
      [A-Za-z_$%][\w$]*(?:\.[\w$]+(?:::[\w$]+)*)*     # names first: they are the most frequent
    | //[^\n]*
    | /\*[\s\S]*?(?:\*/|\Z)
    | \.section\s+[\w.$]+\s*\{[^}]*(?:\}|\Z)
    | \.[\w$]+(?:::[\w$]+)*
    | \d+(?:\.\d*)?[eE][+-]\d+(?![\w.])
    | \d[\w.]*
    | "(?:[^"\\\n]|\\.)*"?
    | \S
    """,
    re.VERBOSE | re.ASCII,
)

END = " end of file"
"""The last token of every list: no PTX token begins with a space."""


def tokenize(text: str) -> list[str]:
    """The tokens of a module, comments left out, END at the end."""
    tokens = [token for token in _TOKEN.findall(text) if token[0] != "/" or token == "/"]
    tokens.append(END)
    return tokens


def line_of_token(text: str, index: int) -> int:
    """1-based line of a token in the PTX text; slow, for error messages."""
    seen = -1
    for match in _TOKEN.finditer(text):
        token = match.group()
        seen += token[0] != "/" or token == "/"
        if seen == index:
            return text.count("\n", 0, match.start()) + 1
    return text.count("\n") + 1
