"""PTX tokens to a syntax tree, by recursive descent.

Accepts what NVRTC writes in any mode and what a learner may put into inline asm; everything else is
a PtxError that names the CUDA line. One Parser reads one module and is then thrown away.
"""

import re
from collections.abc import Callable

from judge.backends.cpu.ir import Immediate, Location
from judge.backends.cpu.ptx import syntax
from judge.backends.cpu.ptx.cursor import NAME_START, clip
from judge.backends.cpu.ptx.declarations import SPACES, Declarations
from judge.backends.cpu.ptx.dwarf import inlined_ranges, local_names
from judge.backends.cpu.ptx.errors import PtxError
from judge.backends.cpu.ptx.instructions import IN_ONE_CTA, Spelling, spell
from judge.backends.cpu.ptx.lexer import END

MAX_TEXT_BYTES = 16 << 20
MAX_STATEMENTS = 400_000
MAX_SCOPE_DEPTH = 64
MAX_INLINE_DEPTH = 32

_SECTION = re.compile(r"\.section\s+([\w.$]+)\s*\{", re.ASCII)
_FILE_LINE = re.compile(r'\n[ \t]*\.file[ \t]+(\d+)[ \t]+"([^"\n]*)"')
_NO_BYTE_USED = '"used_bytes_mask 0"'
_ZEROED = {"u8": "mov.b16", "u16": "mov.b16", "u32": "mov.b32", "u64": "mov.b64"}
_LINKAGES = {".extern": "extern", ".visible": "visible", ".weak": "weak", ".common": "common"}


def parse(text: str) -> syntax.Module:
    """Parse a PTX module.

    Raises PtxError, and nothing else, for text that is not PTX.
    """
    if len(text) > MAX_TEXT_BYTES:
        raise PtxError(
            f"the compiled kernel is too large: {len(text) >> 20} MiB of PTX, at most {MAX_TEXT_BYTES >> 20}"
        )
    return Parser(text).module()


class Parser(Declarations):
    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.files = {
            int(number): path.rpartition("/")[2] for number, path in _FILE_LINE.findall(text) if len(number) < 9
        }
        self.placed: dict[tuple[int, int, int], Location] = {}
        self.spellings: dict[str, Spelling] = {}
        self.result = syntax.Module()
        self.reads_padding = False
        """The compiler says of the next load that no byte of it is used: it copies padding."""

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
        sections: dict[str, str] = {}
        while tokens[self.at] is not END:
            token = tokens[self.at]
            if (section := _SECTION.match(token)) is not None:
                sections[section[1]] = token
                self.at += 1
            elif token in directives:
                self.at += 1
                directives[token]()
            elif token == ";":
                self.at += 1
            else:
                self.declaration()
        if ".debug_info" in sections:
            self.result.inlined = inlined_ranges(sections.get(".debug_abbrev", ""), sections[".debug_info"], self.files)
            self.result.local_names = local_names(sections[".debug_info"])
        return self.result

    def version(self) -> None:
        token = self.take()
        match = re.fullmatch(r"(\d{1,4})\.(\d{1,4})", token)
        if match is None:
            raise self.fail(f"malformed PTX version '{clip(token)}'")
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
            raise self.fail(f"malformed PTX: unexpected '{clip(token)}' outside of any function")

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
                raise self.fail(f"malformed PTX: unexpected '{clip(word)}' before a function body", self.at - 1)

    # -- statements

    def body(self) -> list[syntax.Statement]:
        """Everything up to the `}` that closes the function."""
        tokens = self.tokens
        body: list[syntax.Statement] = []
        depth = 0
        while True:
            token = tokens[self.at]
            first = token[0]
            if first in NAME_START:
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
                raise self.fail(f"malformed PTX: unexpected '{clip(token)}'")
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
            self.reads_padding = self.tokens[self.at + 1] == _NO_BYTE_USED
            self.skip_statement()
        elif token in _LINKAGES:
            linkage = _LINKAGES[self.take()]
            if self.tokens[self.at] not in SPACES:
                raise self.fail(f"malformed PTX: '{clip(self.tokens[self.at])}' after {token}")
            body.extend(self.variables(linkage))
        else:
            raise self.fail(f"malformed PTX: unexpected '{clip(token)}'")

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

    # -- instructions

    def instruction(self, guard: syntax.Guard | None) -> syntax.Statement:
        tokens = self.tokens
        start = self.at
        text = self.take()
        while tokens[self.at][0] == ".":
            text += tokens[self.at]
            self.at += 1
        spelling = self.spellings.get(text)
        if spelling is None:
            spelling = self.spellings[text] = spell(text)
        if spelling.fault:
            raise self.fail(clip(spelling.fault, 120), start)
        if spelling.opcode == "call":
            return self.call(guard)
        if spelling.form is None and not text.startswith(IN_ONE_CTA):
            self.skip_statement()
            return syntax.Instruction(spelling, [], guard, self.location)
        operands: list[syntax.Operand] = []
        if tokens[self.at] != ";":
            operands.append(self.operand())
            while tokens[self.at] == ",":
                self.at += 1
                operands.append(self.operand())
        if tokens[self.at] != ";":
            raise self.fail(f"malformed operand of {text}: unexpected '{clip(tokens[self.at])}'")
        self.at += 1
        if spelling.form is None:
            return syntax.Instruction(spelling, operands, guard, self.location)
        if len(operands) not in spelling.form.patterns:
            wanted = " or ".join(str(count) for count in spelling.form.patterns)
            raise self.fail(f"{text} takes {wanted} operands, not {len(operands)}", start)
        if self.reads_padding:
            self.reads_padding = False
            zeroed = _ZEROED.get(text.rpartition(".")[2]) if isinstance(operands[0], str) else None
            if spelling.opcode == "ld" and zeroed is not None:
                return syntax.Instruction(spell(zeroed), [operands[0], Immediate(0)], guard, self.location)
        return syntax.Instruction(spelling, operands, guard, self.location)

    def operand(self) -> syntax.Operand:
        tokens = self.tokens
        at = self.at
        token = tokens[at]
        first = token[0]
        self.at = at + 1
        if first in NAME_START:
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
        if token[0] in NAME_START:
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
            if token[0] in NAME_START:
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
            elements.append(self.name() if token[0] in NAME_START else self.signed_number())
            if not self.accept(",") and self.tokens[self.at] != ")":
                raise self.fail("malformed operand of call")
        return elements


def _depth(location: Location) -> int:
    depth, outer = 1, location.inlined_at
    while outer is not None:
        depth, outer = depth + 1, outer.inlined_at
    return depth
