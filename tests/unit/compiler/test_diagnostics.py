"""NVRTC's log taken apart."""

from judge.compiler.diagnostics import parse_log

LOG = """\
submission.cu(1): warning #161-D: unrecognized #pragma
  #pragma foo
          ^

Remark: The warnings can be suppressed with "-diag-suppress <warning-number>"

submission.cu(7): error: no instance of overloaded function "f" matches the argument list
            argument types are: (float)
  /*é*/\tf(1.f);
        \t^
submission.cu(3): note #3322-D: number of parameters of function "f" does not match the call
  void f();
       ^
          detected during:
            instantiation of "void g(T) [with T=float]" at line 4

submission.cu(9): catastrophic error: could not open source file "x.h" (no directories in search list)
  #include "x.h"
                ^

At end of source: error: expected a "}"
opt: Unknown command line argument '-enable-scalar-pre=false'.  Try: 'opt -help'
ptxas info    : Used 8 registers, used 0 barriers
ptxas application ptx input, line 25; error   : Not a name of any known instruction: 'foo'
1 catastrophic error detected in the compilation of "submission.cu".
Compilation terminated.
"""


def test_every_part():
    found = parse_log(LOG)
    assert [(d.severity, d.line, d.column) for d in found] == [
        ("warning", 1, 9),
        ("error", 7, 7),
        ("note", 3, 6),
        ("error", 9, 15),
        ("error", None, None),
        ("error", None, None),
    ]
    assert found[0].number == 161
    assert found[1].message.endswith("matches the argument list argument types are: (float)")
    assert found[2].context[1] == 'instantiation of "void g(T) [with T=float]" at line 4'
    assert found[5].file == "ptxas"
    assert "known instruction: 'foo'" in found[5].message


def test_caret_counts_characters_not_bytes():
    (only,) = parse_log("a.cu(1): error: x\n  é = y;\n       ^\n")
    assert only.column == 5


def test_garbage_has_no_diagnostics():
    assert parse_log("") == []
    assert parse_log("   ^\n\n  what\n") == []
