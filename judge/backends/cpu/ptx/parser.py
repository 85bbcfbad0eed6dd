"""PTX tokens to a syntax tree, by recursive descent.

Accepts what NVRTC writes in any mode and what a learner may put into inline asm; everything else is
a PtxError that names the CUDA line. One Parser reads one module and is then thrown away.
"""

import re
import struct
from collections.abc import Callable

from judge.backends.cpu.ir import WIDTHS, Immediate, Location
from judge.backends.cpu.ptx import syntax
from judge.backends.cpu.ptx.errors import PtxError
from judge.backends.cpu.ptx.instructions import Spelling, spell
from judge.backends.cpu.ptx.lexer import END, line_of_token, tokenize

MAX_TEXT_BYTES = 16 << 20
MAX_STATEMENTS = 400_000
MAX_SCOPE_DEPTH = 64
MAX_VARIABLE_BYTES = 1 << 30
MAX_INITIAL_VALUES = 1 << 22
MAX_INLINE_DEPTH = 32
_LONGEST_NUMBER = 40

_FILE_LINE = re.compile(r'\n[ \t]*\.file[ \t]+(\d+)[ \t]+"([^"\n]*)"')
_INTEGER = re.compile(r"(?:0[xX]([0-9a-fA-F]+)|0[bB]([01]+)|0([0-7]+)|(\d+))U?", re.ASCII)
_FLOAT_BITS = re.compile(r"0[fF]([0-9a-fA-F]{8})|0[dD]([0-9a-fA-F]{16})")
_DECIMAL_FLOAT = re.compile(r"\d+\.\d*(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+", re.ASCII)
_NAME_START = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_$%")
_LINKAGES = {".extern": "extern", ".visible": "visible", ".weak": "weak", ".common": "common"}
_SPACES = {".global": "global", ".const": "const", ".shared": "shared", ".local": "local", ".param": "param"}


def parse(text: str) -> syntax.Module:
    """Parse a PTX module.

    Raises PtxError, and nothing else, for text that is not PTX.
    """
    if len(text) > MAX_TEXT_BYTES:
        raise PtxError(
            f"the compiled kernel is too large: {len(text) >> 20} MiB of PTX, at most {MAX_TEXT_BYTES >> 20}"
        )
    return Parser(text).module()


def parse_number(token: str) -> Immediate | None:
    """The constant a token spells, None when it spells none."""
    if len(token) > _LONGEST_NUMBER:
        return None
    if match := _FLOAT_BITS.fullmatch(token):
        single, double = match.groups()
        return Immediate(int(single or double, 16), 32 if single else 64)
    if match := _INTEGER.fullmatch(token):
        hexadecimal, binary, octal, decimal = match.groups()
        digits, base = next(
            (d, b) for d, b in zip((hexadecimal, binary, octal, decimal), (16, 2, 8, 10), strict=True) if d
        )
        value = int(digits, base)
        return Immediate(value) if value < 1 << 64 else None
    if _DECIMAL_FLOAT.fullmatch(token):
        return Immediate(struct.unpack("<Q", struct.pack("<d", float(token)))[0], 64)
    return None


class Parser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = tokenize(text)
        self.at = 0
        self.files = {
            int(number): path.rpartition("/")[2] for number, path in _FILE_LINE.findall(text) if len(number) < 9
        }
        self.location: Location | None = None
        self.placed: dict[tuple[int, int, int], Location] = {}
        self.spellings: dict[str, Spelling] = {}
        self.numbers: dict[str, Immediate] = {"WARP_SZ": Immediate(32)}
        self.ordinal = 0
        self.result = syntax.Module()

    # -- tokens

    def fail(self, message: str, at: int | None = None) -> PtxError:
        """The error for a fault at a token; without a source line it names the line of the PTX."""
        if self.location is None:
            where = min(self.at if at is None else at, len(self.tokens) - 1)
            message = f"{message} (line {line_of_token(self.text, where)} of the PTX)"
        return PtxError(message, self.location)

    def take(self) -> str:
        token = self.tokens[self.at]
        if token is END:
            raise self.fail("the PTX ends in the middle of a statement")
        self.at += 1
        return token

    def accept(self, token: str) -> bool:
        if self.tokens[self.at] == token:
            self.at += 1
            return True
        return False

    def expect(self, token: str) -> None:
        if not self.accept(token):
            raise self.fail(f"malformed PTX: expected '{token}', found '{_clip(self.tokens[self.at])}'")

    def name(self) -> str:
        token = self.take()
        if token[0] not in _NAME_START or "." in token:
            raise self.fail(f"malformed PTX: expected a name, found '{_clip(token)}'", self.at - 1)
        return token

    def integer(self) -> int:
        negative = self.accept("-")
        number = self.number(self.take())
        if number.float_bits:
            raise self.fail("malformed PTX: expected a whole number", self.at - 1)
        return -number.value if negative else number.value

    def number(self, token: str) -> Immediate:
        value = self.numbers.get(token)
        if value is None:
            value = parse_number(token)
            if value is None:
                raise self.fail(f"malformed PTX: '{_clip(token)}' is not a number", self.at - 1)
            self.numbers[token] = value
        return value

    def signed_number(self) -> Immediate:
        if self.accept("-"):
            return self.negate(self.number(self.take()))
        self.accept("+")
        return self.number(self.take())

    def negate(self, number: Immediate) -> Immediate:
        if number.float_bits:
            return Immediate(number.value ^ 1 << number.float_bits - 1, number.float_bits)
        return Immediate(-number.value)

    def statement_end(self) -> int:
        """Index of the `;` that ends the statement at hand."""
        try:
            return self.tokens.index(";", self.at)
        except ValueError:
            raise self.fail("the PTX ends in the middle of a statement: a ';' is missing") from None

    # -- module level

    def module(self) -> syntax.Module:
        tokens = self.tokens
        directives: dict[str, Callable[[], None]] = {
            ".version": self.version,
            ".target": self.target,
            ".address_size": self.address_size,
            ".file": self.file,
            ".alias": self.alias,
            ".pragma": self.skip_statement,
        }
        while tokens[self.at] is not END:
            token = tokens[self.at]
            if token.startswith(".section"):
                self.at += 1
            elif token in directives:
                self.at += 1
                directives[token]()
            elif token == ";":
                self.at += 1
            else:
                self.declaration()
        return self.result

    def version(self) -> None:
        token = self.take()
        match = re.fullmatch(r"(\d{1,4})\.(\d{1,4})", token)
        if match is None:
            raise self.fail(f"malformed PTX version '{_clip(token)}'")
        self.result.version = (int(match[1]), int(match[2]))

    def target(self) -> None:
        names = [self.take()]
        while self.accept(","):
            names.append(self.take())
        self.result.target = names[0]
        self.result.debug = "debug" in names[1:]

    def address_size(self) -> None:
        if self.take() != "64":
            raise self.fail("only PTX with 64-bit addresses is understood")

    def file(self) -> None:
        self.integer()
        if self.take()[0] != '"':
            raise self.fail("malformed .file directive")
        while self.accept(","):
            self.integer()

    def alias(self) -> None:
        new = self.name()
        self.expect(",")
        self.result.aliases[new] = self.name()
        self.expect(";")

    def skip_statement(self) -> None:
        self.at = self.statement_end() + 1

    def declaration(self) -> None:
        """A module-level variable or function, after any linkage words."""
        linkage = ""
        while self.tokens[self.at] in _LINKAGES:
            linkage = _LINKAGES[self.take()]
        token = self.tokens[self.at]
        if token in (".entry", ".func"):
            self.at += 1
            self.location = None
            self.placed.clear()
            self.function(token == ".entry", linkage)
            self.location = None
        elif token in (".global", ".const", ".shared"):
            self.result.variables.extend(self.variables(linkage))
        else:
            raise self.fail(f"malformed PTX: unexpected '{_clip(token)}' outside of any function")

    # -- variables

    def variables(self, linkage: str) -> list[syntax.Variable]:
        """`.space [.align n] [.attribute(…)] .type name[dims] [= initial] {, name…};`"""
        space = _SPACES[self.take()]
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
                raise self.fail(f"not emulated: .{_clip(word)} variables, needs a GPU", self.at - 1)
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
                raise self.fail(f"malformed PTX: '{_clip(self.tokens[self.at])}' in an initialiser")
        return values

    def initial_value(self) -> syntax.Initial:
        token = self.tokens[self.at]
        if token[0] in _NAME_START:
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

    def addend(self) -> int:
        total = 0
        while self.tokens[self.at] in ("+", "-"):
            sign = -1 if self.take() == "-" else 1
            total += sign * self.integer()
        return total

    # -- functions

    def function(self, is_entry: bool, linkage: str) -> None:
        results = self.parameter_list(is_entry) if not is_entry and self.tokens[self.at] == "(" else []
        name = self.name()
        parameters = self.parameter_list(is_entry) if self.tokens[self.at] == "(" else []
        function = syntax.Function(name, is_entry, parameters, results, linkage, self.location)
        self.performance_directives(function)
        known = self.result.functions.get(name)
        if known is not None and known.is_entry != is_entry:
            raise self.fail(f"malformed PTX: {name} is declared both as .entry and as .func")
        if self.accept(";"):
            if known is None:
                self.result.functions[name] = function
            return
        if known is not None and known.body is not None:
            raise self.fail(f"malformed PTX: {name} is defined twice")
        self.expect("{")
        function.body = self.body()
        self.result.functions[name] = function

    def parameter_list(self, is_entry: bool) -> list[syntax.Variable]:
        self.expect("(")
        found: list[syntax.Variable] = []
        while not self.accept(")"):
            word = self.take()
            if word not in (".param", ".reg") or (word == ".reg" and is_entry):
                raise self.fail(f"malformed PTX: '{_clip(word)}' in a parameter list", self.at - 1)
            align, type_, lanes = self.type_words()
            name = self.name()
            dimensions = self.dimensions()
            space = "param" if word == ".param" else "reg"
            found.append(self.variable(space, name, type_, lanes, align, dimensions, None, ""))
            if not self.accept(",") and self.tokens[self.at] != ")":
                raise self.fail("malformed PTX: a parameter list")
        return found

    def performance_directives(self, function: syntax.Function) -> None:
        while self.tokens[self.at][0] == ".":
            word = self.take()
            if word == ".pragma":
                self.skip_statement()
            elif word in (".noreturn", ".explicitcluster", ".blocksareclusters"):
                function.clustered |= word != ".noreturn"
            elif word in (
                ".maxntid",
                ".reqntid",
                ".reqnctapercluster",
                ".minnctapersm",
                ".maxnctapersm",
                ".maxnreg",
                ".maxclusterrank",
            ):
                figures = [self.integer()]
                while self.accept(","):
                    figures.append(self.integer())
                if word == ".maxntid":
                    function.max_threads = tuple(figures)
                elif word == ".reqntid":
                    function.required_threads = tuple(figures)
                elif word == ".reqnctapercluster":
                    function.clustered = True
            elif word in (".abi_preserve", ".abi_preserve_control"):
                self.integer()
            else:
                raise self.fail(f"malformed PTX: unexpected '{_clip(word)}' before a function body", self.at - 1)

    # -- statements

    def body(self) -> list[syntax.Statement]:
        """Everything up to the `}` that closes the function."""
        tokens = self.tokens
        body: list[syntax.Statement] = []
        depth = 0
        while True:
            token = tokens[self.at]
            first = token[0]
            if first in _NAME_START:
                if tokens[self.at + 1] == ":":
                    self.label(body)
                else:
                    body.append(self.instruction(None))
            elif first == ".":
                self.body_directive(token, body)
            elif first == "@":
                self.at += 1
                negated = self.accept("!")
                body.append(self.instruction(syntax.Guard(self.name(), negated)))
            elif first == "{":
                self.at += 1
                depth += 1
                if depth > MAX_SCOPE_DEPTH:
                    raise self.fail(f"scopes are nested deeper than {MAX_SCOPE_DEPTH}")
                body.append(syntax.ScopeStart())
            elif first == "}":
                self.at += 1
                if depth == 0:
                    return body
                depth -= 1
                body.append(syntax.ScopeEnd())
            elif first == ";":
                self.at += 1
            elif token is END:
                raise self.fail("the PTX ends inside a function: a '}' is missing")
            else:
                raise self.fail(f"malformed PTX: unexpected '{_clip(token)}'")
            if len(body) > MAX_STATEMENTS:
                raise self.fail(f"the compiled kernel is too large: more than {MAX_STATEMENTS} statements")

    def label(self, body: list[syntax.Statement]) -> None:
        name = self.name()
        self.at += 1
        following = self.tokens[self.at]
        if following == ".branchtargets":
            self.at += 1
            body.append(syntax.BranchTable(name, self.name_list(), self.location))
            self.expect(";")
        elif following in (".callprototype", ".calltargets"):
            self.skip_statement()
            body.append(syntax.Prototype(name))
        else:
            body.append(syntax.Label(name, self.location))

    def name_list(self) -> list[str]:
        names = [self.name()]
        while self.accept(","):
            names.append(self.name())
        return names

    def body_directive(self, token: str, body: list[syntax.Statement]) -> None:
        if token == ".loc":
            self.at += 1
            self.loc()
        elif token == ".reg":
            self.at += 1
            self.registers(body)
        elif token in (".local", ".shared", ".param", ".global", ".const"):
            body.extend(self.variables(""))
        elif token == ".pragma":
            self.skip_statement()
        elif token in _LINKAGES:
            linkage = _LINKAGES[self.take()]
            if self.tokens[self.at] not in _SPACES:
                raise self.fail(f"malformed PTX: '{_clip(self.tokens[self.at])}' after {token}")
            body.extend(self.variables(linkage))
        else:
            raise self.fail(f"malformed PTX: unexpected '{_clip(token)}'")

    def loc(self) -> None:
        """`.loc file line column[, function_name label[+n], inlined_at file line column]`"""
        place = (self.integer(), self.integer(), self.integer())
        inlined_at: Location | None = None
        if self.accept(","):
            self.expect("function_name")
            self.name()
            self.addend()
            self.expect(",")
            self.expect("inlined_at")
            caller = (self.integer(), self.integer(), self.integer())
            # The chain's further links are those of the call's own `.loc`, which came before.
            inlined_at = self.placed.get(caller) or self.place(caller, None)
            if _depth(inlined_at) > MAX_INLINE_DEPTH:
                inlined_at = self.place(caller, None)
        # Line 0 is code the compiler made up: it belongs to the line before it.
        if place[1] != 0 or self.location is None:
            self.location = self.placed[place] = self.place(place, inlined_at)

    def place(self, place: tuple[int, int, int], inlined_at: Location | None) -> Location:
        file, line, column = place
        return Location(self.files.get(file, f"file {file}"), line, column, inlined_at)

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

    # -- instructions

    def instruction(self, guard: syntax.Guard | None) -> syntax.Statement:
        tokens = self.tokens
        text = tokens[self.at]
        start = self.at
        self.at += 1
        while tokens[self.at][0] == ".":
            text += tokens[self.at]
            self.at += 1
        spelling = self.spellings.get(text)
        if spelling is None:
            spelling = self.spellings[text] = spell(text)
        if spelling.fault:
            raise self.fail(_clip(spelling.fault, 120), start)
        if spelling.opcode == "call":
            return self.call(guard)
        if spelling.form is None:
            self.skip_statement()
            return syntax.Instruction(spelling, [], guard, self.location)
        operands: list[syntax.Operand] = []
        if tokens[self.at] != ";":
            operands.append(self.operand())
            while tokens[self.at] == ",":
                self.at += 1
                operands.append(self.operand())
        if tokens[self.at] != ";":
            raise self.fail(f"malformed operand of {text}: unexpected '{_clip(tokens[self.at])}'")
        self.at += 1
        if len(operands) not in spelling.form.patterns:
            wanted = " or ".join(str(count) for count in spelling.form.patterns)
            raise self.fail(f"{text} takes {wanted} operands, not {len(operands)}", start)
        return syntax.Instruction(spelling, operands, guard, self.location)

    def operand(self) -> syntax.Operand:
        tokens = self.tokens
        at = self.at
        token = tokens[at]
        first = token[0]
        self.at = at + 1
        if first in _NAME_START:
            following = tokens[at + 1]
            if following in (",", ";"):
                return self.numbers[token] if token == "WARP_SZ" else token
            if following == "|":
                self.at += 1
                return syntax.Pair(token, self.name())
            if following in ("+", "-"):
                return syntax.NameOffset(token, self.addend())
            return token
        if first == "[":
            return self.memory()
        if first == "{":
            return self.braces()
        if first == "!":
            return syntax.Inverted(self.name())
        self.at = at
        return self.signed_number()

    def memory(self) -> syntax.Memory:
        token = self.tokens[self.at]
        if token[0] in _NAME_START:
            self.at += 1
            operand = syntax.Memory(token, self.addend())
        else:
            operand = syntax.Memory(None, self.integer() + self.addend())
        self.expect("]")
        return operand

    def braces(self) -> syntax.Braces:
        elements: list[str | Immediate] = []
        while True:
            token = self.tokens[self.at]
            if token[0] in _NAME_START:
                self.at += 1
                elements.append(token)
            else:
                elements.append(self.signed_number())
            if not self.accept(","):
                break
        self.expect("}")
        return syntax.Braces(elements)

    def call(self, guard: syntax.Guard | None) -> syntax.Call:
        """The operand list of a call, up to its `;`."""
        results: list[str | Immediate] = []
        arguments: list[str | Immediate] = []
        prototype = None
        if self.tokens[self.at] == "(":
            results = self.group()
            self.expect(",")
        target = self.name()
        if self.accept(","):
            if self.tokens[self.at] == "(":
                arguments = self.group()
                if self.accept(","):
                    prototype = self.name()
            else:
                prototype = self.name()
        self.expect(";")
        return syntax.Call(results, target, arguments, prototype, guard, self.location)

    def group(self) -> list[str | Immediate]:
        self.expect("(")
        elements: list[str | Immediate] = []
        while not self.accept(")"):
            token = self.tokens[self.at]
            elements.append(self.name() if token[0] in _NAME_START else self.signed_number())
            if not self.accept(",") and self.tokens[self.at] != ")":
                raise self.fail("malformed operand of call")
        return elements


def _depth(location: Location) -> int:
    depth, outer = 1, location.inlined_at
    while outer is not None:
        depth, outer = depth + 1, outer.inlined_at
    return depth


def _product(sizes: "list[int] | tuple[int, ...]") -> int:
    total = 1
    for size in sizes:
        total *= size
    return total


def _clip(text: str, length: int = 60) -> str:
    return text if len(text) <= length else text[:length] + "…"
