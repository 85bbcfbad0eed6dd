"""The declarations of PTX: variables with their types, dimensions and initial values, registers, parameters."""

from judge.backends.cpu.ir import WIDTHS, Immediate
from judge.backends.cpu.ptx import syntax
from judge.backends.cpu.ptx.cursor import NAME_START, Cursor, clip

MAX_VARIABLE_BYTES = 1 << 30
MAX_INITIAL_VALUES = 1 << 22
SPACES = {".global": "global", ".const": "const", ".shared": "shared", ".local": "local", ".param": "param"}


class Declarations(Cursor):
    """Reads declarations; ordinal counts them over the whole module."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.ordinal = 0

    def variables(self, linkage: str) -> list[syntax.Variable]:
        """`.space [.align n] [.attribute(…)] .type name[dims] [= initial] {, name…};`"""
        space = SPACES[self.take()]
        align, type_, lanes = self.type_words()
        found = []
        while True:
            name = self.name()
            dimensions = self.dimensions()
            initial = self.initial(dimensions) if self.accept("=") else None
            if dimensions and dimensions[0] == 0 and initial is not None:
                rest = _product(dimensions[1:])
                dimensions = (-(-len(initial) // rest) if rest else 0, *dimensions[1:])
            found.append(self.variable(space, name, type_, lanes, align, dimensions, initial, linkage))
            if not self.accept(","):
                break
        self.expect(";")
        return found

    def variable(
        self,
        space: str,
        name: str,
        type_: str,
        lanes: int,
        align: int | None,
        dimensions: tuple[int, ...] | None,
        initial: list[syntax.Initial] | None,
        linkage: str,
    ) -> syntax.Variable:
        self.ordinal += 1
        return syntax.Variable(
            space, name, type_, lanes, align, dimensions, initial, linkage, self.ordinal, self.location
        )

    def type_words(self) -> tuple[int | None, str, int]:
        """The words between a space and a name: (alignment, element type, vector lanes)."""
        align, type_, lanes = None, "", 1
        while self.tokens[self.at][0] == ".":
            word = self.take()[1:]
            if word == "align":
                align = self.integer()
                if align <= 0 or align & (align - 1) or align > 4096:
                    raise self.fail(f"malformed PTX: alignment {align}")
            elif word in WIDTHS:
                type_ = word
            elif word in ("v2", "v4", "v8"):
                lanes = int(word[1])
            elif word == "attribute":
                self.expect("(")
                self.at = self.closing(")") + 1
            elif word not in ("ptr", "global", "shared", "const", "local", "param", "volatile"):
                raise self.fail(f"not emulated: .{clip(word)} variables, needs a GPU", self.at - 1)
        if not type_:
            raise self.fail("malformed PTX: a declaration without a type")
        return align, type_, lanes

    def closing(self, token: str) -> int:
        try:
            return self.tokens.index(token, self.at)
        except ValueError:
            raise self.fail(f"malformed PTX: a '{token}' is missing") from None

    def dimensions(self) -> tuple[int, ...] | None:
        """`[2][3]`, `[]`; None for a scalar."""
        sizes = []
        while self.accept("["):
            sizes.append(0 if self.tokens[self.at] == "]" else self.integer())
            self.expect("]")
        if not sizes:
            return None
        if min(sizes) < 0 or max(sizes) > MAX_VARIABLE_BYTES or _product(sizes) > MAX_VARIABLE_BYTES or len(sizes) > 16:
            raise self.fail("an array is too large: at most 1 GiB")
        return tuple(sizes)

    def initial(self, dimensions: tuple[int, ...] | None) -> list[syntax.Initial]:
        if self.tokens[self.at] != "{":
            return [self.initial_value()]
        return self.initial_row(dimensions or (0,))

    def initial_row(self, dimensions: tuple[int, ...]) -> list[syntax.Initial]:
        self.expect("{")
        values: list[syntax.Initial] = []
        inner = _product(dimensions[1:]) if len(dimensions) > 1 else 0
        while not self.accept("}"):
            if self.tokens[self.at] == "{":
                if len(dimensions) < 2:
                    raise self.fail("malformed PTX: an initialiser is nested deeper than its array")
                row = self.initial_row(dimensions[1:])
                if len(row) > inner or len(values) + inner > MAX_INITIAL_VALUES:
                    raise self.fail("malformed PTX: an initialiser has more values than its array")
                values += row + [Immediate(0)] * (inner - len(row))
            else:
                values.append(self.initial_value())
            if not self.accept(",") and self.tokens[self.at] != "}":
                raise self.fail(f"malformed PTX: '{clip(self.tokens[self.at])}' in an initialiser")
        return values

    def initial_value(self) -> syntax.Initial:
        token = self.tokens[self.at]
        if token[0] in NAME_START:
            return self.symbol_value()
        value = self.signed_number()
        if self.accept("("):
            symbol = self.symbol_value()
            self.expect(")")
            symbol.mask = value.value
            return symbol
        return value

    def symbol_value(self) -> syntax.SymbolValue:
        name = self.name()
        generic = name == "generic" and self.accept("(")
        if generic:
            name = self.name()
            addend = self.addend()
            self.expect(")")
            return syntax.SymbolValue(name, addend + self.addend(), True)
        return syntax.SymbolValue(name, self.addend(), False)

    def parameter_list(self, is_entry: bool) -> list[syntax.Variable]:
        self.expect("(")
        found: list[syntax.Variable] = []
        while not self.accept(")"):
            word = self.take()
            if word not in (".param", ".reg") or (word == ".reg" and is_entry):
                raise self.fail(f"malformed PTX: '{clip(word)}' in a parameter list", self.at - 1)
            align, type_, lanes = self.type_words()
            name = self.name()
            dimensions = self.dimensions()
            space = "param" if word == ".param" else "reg"
            found.append(self.variable(space, name, type_, lanes, align, dimensions, None, ""))
            if not self.accept(",") and self.tokens[self.at] != ")":
                raise self.fail("malformed PTX: a parameter list")
        return found

    def registers(self, body: list[syntax.Statement]) -> None:
        _, type_, lanes = self.type_words()
        while True:
            name = self.name()
            count = None
            if self.accept("<"):
                count = self.integer()
                self.expect(">")
            body.append(syntax.Registers(type_, name, count, lanes, self.location))
            if not self.accept(","):
                break
        self.expect(";")


def _product(sizes: "list[int] | tuple[int, ...]") -> int:
    total = 1
    for size in sizes:
        total *= size
    return total
