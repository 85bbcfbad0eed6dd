"""Sources too large, or of bytes too odd, to stand in a catalogue file. Each function is a recipe by its name."""

from collections.abc import Callable

HEAD = "// @launch k<<<1, 64>>>(x, out, N, factor)\n"
KERNEL = "__global__ void k(const float* x, float* out, int N, float factor) {\n  const int i = threadIdx.x;\n"
HONEST = KERNEL + "  out[i] = factor * x[i];\n}\n"
CAP = 256 * 1024

RECIPES: dict[str, Callable[[], bytes]] = {}


def _recipe(build: Callable[[], bytes | str]) -> Callable[[], bytes | str]:
    def as_bytes() -> bytes:
        built = build()
        return built.encode() if isinstance(built, str) else built

    RECIPES[build.__name__] = as_bytes
    return build


def _filled(text: str) -> str:
    """The text repeated up to the largest source that is taken, in front of an honest kernel."""
    room = CAP - len(HEAD) - len(HONEST) - 8
    return HEAD + text * (room // len(text)) + "\n" + HONEST


def _in_kernel(text: str) -> str:
    return HEAD + KERNEL + text + "\n  out[i] = factor * x[i];\n}\n"


def _before(text: str) -> str:
    return HEAD + text + "\n" + HONEST


# What is no text


@_recipe
def empty() -> str:
    return ""


@_recipe
def only_blanks() -> str:
    return " \n\t\n" * 100


@_recipe
def only_comments() -> str:
    return "// nothing\n/* at all */\n"


@_recipe
def one_byte_too_large() -> str:
    return (HONEST + "//").ljust(CAP + 1, "x")


@_recipe
def as_large_as_allowed() -> str:
    return (HEAD + HONEST + "//").ljust(CAP, "x")


@_recipe
def a_hundred_megabytes() -> bytes:
    return b"x" * (100 << 20)


@_recipe
def a_nul_byte() -> bytes:
    return (HEAD + HONEST).encode() + b"\0 hidden from the compiler"


@_recipe
def utf16() -> bytes:
    return (HEAD + HONEST).encode("utf-16")


@_recipe
def not_utf8() -> bytes:
    return (HEAD + HONEST).encode() + b"// \xff\xfe\xc0\xaf"


@_recipe
def surrogates_in_utf8() -> bytes:
    return (HEAD + HONEST).encode() + b"// \xed\xa0\x80\xed\xb0\x80"


@_recipe
def byte_order_mark() -> bytes:
    return b"\xef\xbb\xbf" + (HEAD + HONEST).encode()


@_recipe
def machine_code() -> bytes:
    return b"\x7fELF\x02\x01\x01" + bytes(range(1, 256)) * 50


# What is deep


@_recipe
def deep_braces() -> str:
    return _in_kernel("{" * 60_000 + "}" * 60_000)


@_recipe
def deep_parentheses() -> str:
    return _in_kernel("  out[i] = " + "(" * 120_000 + "1" + ")" * 120_000 + ";")


@_recipe
def open_parentheses() -> str:
    return _in_kernel("(" * 250_000)


@_recipe
def deep_templates() -> str:
    return _before(
        "template <class T> struct A { using x = T; };\nusing deep = " + "A<" * 60_000 + "int" + ">" * 60_000 + ";"
    )


@_recipe
def deep_comments() -> str:
    return _filled("/*")


@_recipe
def deep_namespaces() -> str:
    return _before("namespace a{" * 18_000 + "}" * 18_000)


@_recipe
def deep_conditionals() -> str:
    return _before("#if 1\n" * 15_000 + "#endif\n" * 15_000)


@_recipe
def deep_ifs() -> str:
    return _in_kernel("if(i)" * 40_000 + ";")


@_recipe
def deep_lambdas() -> str:
    return _in_kernel("auto f=[&]{" * 10_000 + "};" * 10_000)


@_recipe
def deep_pointers() -> str:
    return _before("__device__ int " + "*" * 200_000 + "p;")


@_recipe
def long_ternaries() -> str:
    return _in_kernel("  out[i] = " + "i?1:" * 50_000 + "1;")


@_recipe
def long_operators() -> str:
    return _in_kernel("  out[i] = " + "-+" * 100_000 + "1;")


# What is long


@_recipe
def many_lines() -> str:
    return _filled("\n")


@_recipe
def many_carriage_returns() -> str:
    return _filled("\r")


@_recipe
def many_semicolons() -> str:
    return _filled(";")


@_recipe
def many_continuations() -> str:
    return _filled("\\\n")


@_recipe
def long_identifier() -> str:
    name = "n" * 100_000
    return HEAD + f"__device__ int {name};\n" + HONEST.replace("out[i] =", f"out[i] = {name[:-1]} +")


@_recipe
def long_kernel_name() -> str:
    name = "k" * 30_000
    return f"// @launch {name}<<<1, 64>>>(x, out, N, factor)\n" + HONEST.replace(" k(", f" {name}(")


@_recipe
def long_error() -> str:
    return _before("#error " + "E" * 200_000)


@_recipe
def long_string() -> str:
    return _in_kernel('  const char* s = "' + "s" * 200_000 + '"; out[0] = s[i];')


@_recipe
def many_kernels() -> str:
    return _before("".join(f"__global__ void g{n}(int*p){{p[{n}]=1;}}\n" for n in range(6000)))


@_recipe
def many_cases() -> str:
    return _in_kernel("switch(N){" + "".join(f"case {n}:out[{n % 64}]=1;break;" for n in range(8000)) + "}")


@_recipe
def many_gotos() -> str:
    return _in_kernel("".join(f"l{n}: if (x[{n % 64}] > {n}) goto l{(n * 7919) % 4000};\n" for n in range(4000)))


@_recipe
def many_errors() -> str:
    return _in_kernel(" ".join(f"int a{n}=b{n};" for n in range(10_000)))


@_recipe
def many_warnings() -> str:
    return _before("".join(f"__device__ void w{n}(){{int u;}}\n" for n in range(6000)))


@_recipe
def many_parameters() -> str:
    parameters = ", ".join(f"int p{n}" for n in range(5000))
    return _before(f"__global__ void wide({parameters}) {{}}")


@_recipe
def parameters_over_the_limit() -> str:
    return (
        "struct Large { char bytes[40000]; };\n// @launch k<<<1, 64>>>(Large{}, out)\n"
        "__global__ void k(Large l, float* out) { out[threadIdx.x] = l.bytes[threadIdx.x]; }\n"
    )


# What grows


@_recipe
def macro_bomb() -> str:
    lines = ["#define A0 1+"] + [f"#define A{n} " + f"A{n - 1} " * 16 for n in range(1, 9)]
    return _before("\n".join(lines) + "\n__device__ int z = A8 1;")


@_recipe
def paste_bomb() -> str:
    lines = ["#define P(a, b) a##b", "#define A0 aaaaaaaa"]
    lines += [f"#define A{n} Q(A{n - 1}, A{n - 1})" for n in range(1, 24)]
    return _before("#define Q(a, b) P(a, b)\n" + "\n".join(lines) + "\n__device__ int A20;")


@_recipe
def template_bomb() -> str:
    return _before(
        "template <int N, int M> struct T { static constexpr int v = T<N-1, 2*M>::v + T<N-1, 2*M+1>::v; };\n"
        "template <int M> struct T<0, M> { static constexpr int v = 1; };\n__device__ int z = T<40, 0>::v;"
    )


@_recipe
def constexpr_bombs() -> str:
    return _before(
        "".join(
            f"__device__ constexpr int f{n}(int a) {{ int s = 0; for (int i = 0; i < 100000; ++i) s ^= i * a; "
            f"return s; }}\nconstexpr int v{n} = f{n}({n});\n"
            for n in range(400)
        )
    )


@_recipe
def pack_bomb() -> str:
    return _before(
        "template <int... I> struct S {};\n"
        "template <int N, int... I> struct M : M<N - 1, N, I...> {};\n"
        "template <int... I> struct M<0, I...> { using t = S<I...>; };\n"
        "template <int... I> __device__ int sum(S<I...>) { return (I + ... + 0); }\n"
        "__device__ int z = sum(typename M<190>::t{}) + sizeof(__make_integer_seq<J, int, 40000000>);\n"
        "template <class T, T... I> struct J {};\n"
    )


@_recipe
def initialised_array() -> str:
    return _before("__device__ int big[64 << 20] = {1};")


@_recipe
def unrolled_without_end() -> str:
    return _in_kernel(
        "#pragma unroll\n  for (int a = 0; a < 100000; ++a)\n#pragma unroll\n  for (int b = 0; b < 1000; ++b) "
        "out[i] += x[(a * b + i) % 64];"
    )


# Launch lines


def _launch(line: str) -> str:
    return f"// @launch {line}\n" + HONEST


@_recipe
def launch_of_comment_openers() -> str:
    return _launch("k<<<1, 64>>>(" + "/*" * 120_000 + ")")


@_recipe
def launch_of_less_than() -> str:
    return _launch("k<<<1, 64>>>(" + "a<" * 120_000 + ")")


@_recipe
def launch_of_brackets() -> str:
    return _launch("k<<<1, 64>>>(" + "()" * 120_000 + ")")


@_recipe
def launch_of_ends() -> str:
    return _launch("k<<<" + ">>>(" * 60_000)


@_recipe
def launch_in_block_comments() -> str:
    return "/*" + "@launch " * 30_000 + "*/\n" + HONEST


@_recipe
def workspace_of_blanks() -> str:
    return "// @workspace float" + " *" * 120_000 + "[1]\n" + HONEST


@_recipe
def misspelled_launch() -> str:
    return "// @" + "launhc" * 40_000 + "\n" + HONEST


@_recipe
def seventeen_launches() -> str:
    return HEAD * 17 + HONEST


@_recipe
def nine_workspaces() -> str:
    return "".join(f"// @workspace float w{n}[1]\n" for n in range(9)) + HEAD + HONEST


@_recipe
def many_launches() -> str:
    return HEAD * 5000 + HONEST


# What a log or a report should take for something else


@_recipe
def control_characters_in_error() -> str:
    return _before(
        "#error \x1b[2J\x1b[31mACCEPTED\x1b]0;title\x07 \x1b]52;c;aGk=\x07 \x9b1m </script> \u202eabc \u2066x"
    )


@_recipe
def control_characters_in_name() -> str:
    return HEAD + HONEST.replace("out[i] =", "\x1b[31m\u202eevil\x08\x08 = out[i] =")


@_recipe
def control_characters_in_launch() -> str:
    return "// @launch \x1b[31m\u202ek\x07<<<1, 64>>>(x, out, N, factor)\n" + HONEST


@_recipe
def control_characters_in_path() -> str:
    return _before('#include "\x1b]8;;http://example.invalid\x07click\x1b]8;;\x07"')


@_recipe
def control_characters_in_assert() -> str:
    return HEAD + KERNEL + '  assert(i < 0 && "\x1b[32mACCEPTED\x1b[0m \u202e");\n}\n'


@_recipe
def control_characters_printed() -> str:
    return (
        HEAD
        + "#include <cstdio>\n"
        + KERNEL
        + '  if (i == 0) printf("\\033[2J\\033[32mACCEPTED\\033[0m\\r\\n\\233\\377\\302\\n");\n  out[i] = 0;\n}\n'
    )


@_recipe
def line_separators() -> str:
    return _before("// \u2028\u2029\x0b\x0c\x85 ends no line\n#error here")


@_recipe
def homoglyphs() -> str:
    return HEAD + HONEST.replace(" k(", " \u043a(")


@_recipe
def counts_forged_often() -> str:
    return _before(("#error " + "judge_plan_takes=1, judge_plan_given=2] " * 900 + "\n") * 6)


@_recipe
def digits_without_end() -> str:
    return _before('asm(".global .b8 hoard[' + "9" * 6000 + '];");')


@_recipe
def line_number_without_end() -> str:
    return _before("#line " + "9" * 6000 + ' "submission.cu"\n#error here')
