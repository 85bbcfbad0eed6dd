"""Sources of odd bytes, launch lines that are slow to read, and text that wants to be taken for the judge's."""

from judge.redteam.recipes import CAP, HEAD, HONEST, KERNEL, before, recipe

# What is no text


@recipe
def empty() -> str:
    return ""


@recipe
def only_blanks() -> str:
    return " \n\t\n" * 100


@recipe
def only_comments() -> str:
    return "// nothing\n/* at all */\n"


@recipe
def one_byte_too_large() -> str:
    return (HONEST + "//").ljust(CAP + 1, "x")


@recipe
def as_large_as_allowed() -> str:
    return (HEAD + HONEST + "//").ljust(CAP, "x")


@recipe
def a_hundred_megabytes() -> bytes:
    return b"x" * (100 << 20)


@recipe
def a_nul_byte() -> bytes:
    return (HEAD + HONEST).encode() + b"\0 hidden from the compiler"


@recipe
def utf16() -> bytes:
    return (HEAD + HONEST).encode("utf-16")


@recipe
def not_utf8() -> bytes:
    return (HEAD + HONEST).encode() + b"// \xff\xfe\xc0\xaf"


@recipe
def surrogates_in_utf8() -> bytes:
    return (HEAD + HONEST).encode() + b"// \xed\xa0\x80\xed\xb0\x80"


@recipe
def byte_order_mark() -> bytes:
    return b"\xef\xbb\xbf" + (HEAD + HONEST).encode()


@recipe
def machine_code() -> bytes:
    return b"\x7fELF\x02\x01\x01" + bytes(range(1, 256)) * 50


# Launch lines


def _launch(line: str) -> str:
    return f"// @launch {line}\n" + HONEST


@recipe
def launch_of_comment_openers() -> str:
    return _launch("k<<<1, 64>>>(" + "/*" * 120_000 + ")")


@recipe
def launch_of_less_than() -> str:
    return _launch("k<<<1, 64>>>(" + "a<" * 120_000 + ")")


@recipe
def launch_of_brackets() -> str:
    return _launch("k<<<1, 64>>>(" + "()" * 120_000 + ")")


@recipe
def launch_of_ends() -> str:
    return _launch("k<<<" + ">>>(" * 60_000)


@recipe
def launch_in_block_comments() -> str:
    return "/*" + "@launch " * 30_000 + "*/\n" + HONEST


@recipe
def workspace_of_blanks() -> str:
    return "// @workspace float" + " *" * 120_000 + "[1]\n" + HONEST


@recipe
def misspelled_launch() -> str:
    return "// @" + "launhc" * 40_000 + "\n" + HONEST


@recipe
def seventeen_launches() -> str:
    return HEAD * 17 + HONEST


@recipe
def nine_workspaces() -> str:
    return "".join(f"// @workspace float w{n}[1]\n" for n in range(9)) + HEAD + HONEST


@recipe
def many_launches() -> str:
    return HEAD * 5000 + HONEST


# What a log or a report should take for something else


@recipe
def control_characters_in_error() -> str:
    return before(
        "#error \x1b[2J\x1b[31mACCEPTED\x1b]0;title\x07 \x1b]52;c;aGk=\x07 \x9b1m </script> \u202eabc \u2066x"
    )


@recipe
def control_characters_in_name() -> str:
    return HEAD + HONEST.replace("out[i] =", "\x1b[31m\u202eevil\x08\x08 = out[i] =")


@recipe
def control_characters_in_launch() -> str:
    return "// @launch \x1b[31m\u202ek\x07<<<1, 64>>>(x, out, N, factor)\n" + HONEST


@recipe
def control_characters_in_path() -> str:
    return before('#include "\x1b]8;;http://example.invalid\x07click\x1b]8;;\x07"')


@recipe
def control_characters_in_assert() -> str:
    return HEAD + KERNEL + '  assert(i < 0 && "\x1b[32mACCEPTED\x1b[0m \u202e");\n}\n'


@recipe
def control_characters_printed() -> str:
    return (
        HEAD
        + "#include <cstdio>\n"
        + KERNEL
        + '  if (i == 0) printf("\\033[2J\\033[32mACCEPTED\\033[0m\\r\\n\\233\\377\\302\\n");\n  out[i] = 0;\n}\n'
    )


@recipe
def line_separators() -> str:
    return before("// \u2028\u2029\x0b\x0c\x85 ends no line\n#error here")


@recipe
def long_include() -> str:
    return before('#include "' + "a" * 5000 + '"')


@recipe
def deep_include() -> str:
    return before("#include <" + "a/" * 50_000 + "b.h>")


@recipe
def many_includes() -> str:
    return before("".join(f"#include <cuda/std/nothing{n}>\n" for n in range(8000)))


@recipe
def homoglyphs() -> str:
    return HEAD + HONEST.replace(" k(", " \u043a(")


@recipe
def counts_forged_often() -> str:
    return before(("#error " + "judge_plan_takes=1, judge_plan_given=2] " * 900 + "\n") * 6)


@recipe
def digits_without_end() -> str:
    return before('asm(".global .b8 hoard[' + "9" * 6000 + '];");')


@recipe
def line_number_without_end() -> str:
    return before("#line " + "9" * 6000 + ' "submission.cu"\n#error here')
