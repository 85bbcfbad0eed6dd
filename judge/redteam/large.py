"""Sources that are deep, that are long, and that grow in the compiler."""

from judge.redteam.recipes import HEAD, HONEST, before, filled, in_kernel, recipe

# What is deep


@recipe
def deep_braces() -> str:
    return in_kernel("{" * 60_000 + "}" * 60_000)


@recipe
def deep_parentheses() -> str:
    return in_kernel("  out[i] = " + "(" * 120_000 + "1" + ")" * 120_000 + ";")


@recipe
def open_parentheses() -> str:
    return in_kernel("(" * 250_000)


@recipe
def deep_templates() -> str:
    return before(
        "template <class T> struct A { using x = T; };\nusing deep = " + "A<" * 60_000 + "int" + ">" * 60_000 + ";"
    )


@recipe
def deep_comments() -> str:
    return filled("/*")


@recipe
def deep_namespaces() -> str:
    return before("namespace a{" * 18_000 + "}" * 18_000)


@recipe
def deep_conditionals() -> str:
    return before("#if 1\n" * 15_000 + "#endif\n" * 15_000)


@recipe
def deep_ifs() -> str:
    return in_kernel("if(i)" * 40_000 + ";")


@recipe
def deep_lambdas() -> str:
    return in_kernel("auto f=[&]{" * 10_000 + "};" * 10_000)


@recipe
def deep_pointers() -> str:
    return before("__device__ int " + "*" * 200_000 + "p;")


@recipe
def long_ternaries() -> str:
    return in_kernel("  out[i] = " + "i?1:" * 50_000 + "1;")


@recipe
def long_operators() -> str:
    return in_kernel("  out[i] = " + "-+" * 100_000 + "1;")


# What is long


@recipe
def many_lines() -> str:
    return filled("\n")


@recipe
def many_carriage_returns() -> str:
    return filled("\r")


@recipe
def many_semicolons() -> str:
    return filled(";")


@recipe
def many_continuations() -> str:
    return filled("\\\n")


@recipe
def long_identifier() -> str:
    name = "n" * 100_000
    return HEAD + f"__device__ int {name};\n" + HONEST.replace("out[i] =", f"out[i] = {name[:-1]} +")


@recipe
def long_kernel_name() -> str:
    name = "k" * 30_000
    return f"// @launch {name}<<<1, 64>>>(x, out, N, factor)\n" + HONEST.replace(" k(", f" {name}(")


@recipe
def long_error() -> str:
    return before("#error " + "E" * 200_000)


@recipe
def long_string() -> str:
    return in_kernel('  const char* s = "' + "s" * 200_000 + '"; out[0] = s[i];')


@recipe
def many_kernels() -> str:
    return before("".join(f"__global__ void g{n}(int*p){{p[{n}]=1;}}\n" for n in range(6000)))


@recipe
def many_cases() -> str:
    return in_kernel("switch(N){" + "".join(f"case {n}:out[{n % 64}]=1;break;" for n in range(8000)) + "}")


def _remainders(type_: str) -> str:
    terms = "".join(f"  sum += x[({type_})(i * {number}) % N];\n" for number in range(3, 203))
    return in_kernel(f"  float sum = 0;\n{terms}  if (sum == 1.5e38f) return;")


@recipe
def many_remainders() -> str:
    return _remainders("int")


@recipe
def many_wide_remainders() -> str:
    return _remainders("long long")


@recipe
def many_gotos() -> str:
    return in_kernel("".join(f"l{n}: if (x[{n % 64}] > {n}) goto l{(n * 7919) % 4000};\n" for n in range(4000)))


@recipe
def many_errors() -> str:
    return in_kernel(" ".join(f"int a{n}=b{n};" for n in range(10_000)))


@recipe
def many_warnings() -> str:
    return before("".join(f"__device__ void w{n}(){{int u;}}\n" for n in range(6000)))


@recipe
def many_parameters() -> str:
    parameters = ", ".join(f"int p{n}" for n in range(5000))
    return before(f"__global__ void wide({parameters}) {{}}")


@recipe
def parameters_over_the_limit() -> str:
    return (
        "struct Large { char bytes[40000]; };\n// @launch k<<<1, 64>>>(Large{}, out)\n"
        "__global__ void k(Large l, float* out) { out[threadIdx.x] = l.bytes[threadIdx.x]; }\n"
    )


# What grows


@recipe
def macro_bomb() -> str:
    lines = ["#define A0 1+"] + [f"#define A{n} " + f"A{n - 1} " * 16 for n in range(1, 9)]
    return before("\n".join(lines) + "\n__device__ int z = A8 1;")


@recipe
def paste_bomb() -> str:
    lines = ["#define P(a, b) a##b", "#define A0 aaaaaaaa"]
    lines += [f"#define A{n} Q(A{n - 1}, A{n - 1})" for n in range(1, 24)]
    return before("#define Q(a, b) P(a, b)\n" + "\n".join(lines) + "\n__device__ int A20;")


@recipe
def template_bomb() -> str:
    return before(
        "template <int N, int M> struct T { static constexpr int v = T<N-1, 2*M>::v + T<N-1, 2*M+1>::v; };\n"
        "template <int M> struct T<0, M> { static constexpr int v = 1; };\n__device__ int z = T<40, 0>::v;"
    )


@recipe
def constexpr_bombs() -> str:
    return before(
        "".join(
            f"__device__ constexpr int f{n}(int a) {{ int s = 0; for (int i = 0; i < 100000; ++i) s ^= i * a; "
            f"return s; }}\nconstexpr int v{n} = f{n}({n});\n"
            for n in range(400)
        )
    )


@recipe
def pack_bomb() -> str:
    return before(
        "template <int... I> struct S {};\n"
        "template <int N, int... I> struct M : M<N - 1, N, I...> {};\n"
        "template <int... I> struct M<0, I...> { using t = S<I...>; };\n"
        "template <int... I> __device__ int sum(S<I...>) { return (I + ... + 0); }\n"
        "__device__ int z = sum(typename M<190>::t{}) + sizeof(__make_integer_seq<J, int, 40000000>);\n"
        "template <class T, T... I> struct J {};\n"
    )


@recipe
def initialised_array() -> str:
    return before("__device__ int big[64 << 20] = {1};")


@recipe
def unrolled_without_end() -> str:
    return in_kernel(
        "#pragma unroll\n  for (int a = 0; a < 100000; ++a)\n#pragma unroll\n  for (int b = 0; b < 1000; ++b) "
        "out[i] += x[(a * b + i) % 64];"
    )
