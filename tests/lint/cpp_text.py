"""A rough reader of clang-formatted C++: enough to find scopes, functions and parameters."""

import re

from tree import line_of

_PREFIX = r"\s*(template\s*<.*>\s*)?(typedef\s+|static\s+|inline\s+|const\s+|constexpr\s+)*"
_TOKENS = re.compile(
    r"//[^\n]*|/\*.*?\*/"
    r'|R"(?P<mark>[^(\s]*)\(.*?\)(?P=mark)"'
    r'|"(?:\\.|[^"\\\n])*"'
    r"|(?<![\w'])\d[\w'.]*"
    r"|'(?:\\.|[^'\\\n])+'",
    re.DOTALL)
_MACRO_CALL = re.compile(r"\b(KVP_[A-Z_]+|alignas|__attribute__|noexcept|decltype|explicit)\s*"
                         r"\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)")


def strip(text):
    """The text with comments, literals and preprocessor lines blanked; offsets and line numbers stay."""
    def blank(match):
        token = match.group(0)
        if token[0].isdigit():
            return token
        return re.sub(r"[^\n]", " ", token)
    text = _TOKENS.sub(blank, text)
    return re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", blank, text, flags=re.MULTILINE)


class Scope:
    """kind: file, namespace, class, enum, function or block."""

    def __init__(self, kind, header, line, parent):
        self.kind, self.header, self.line, self.parent = kind, header, line, parent
        self.last_line = line


class Statement:
    """A declaration or statement up to its `;`, in the scope that holds it."""

    def __init__(self, text, line, scope):
        self.text, self.line, self.scope = text, line, scope


def _kind(header, parent):
    plain = _MACRO_CALL.sub(" ", header)
    if re.search(r"\bnamespace\b", plain):
        return "namespace"
    if parent.kind in ("function", "block"):
        return "block"
    if re.match(r"\s*extern\s*$", plain):
        return "namespace"
    if re.match(_PREFIX + r"enum\b", plain, re.DOTALL):
        return "enum"
    if re.match(_PREFIX + r"(class|struct|union)\b[^()]*$", plain, re.DOTALL):
        return "class"
    if "(" in plain and not re.search(r"(?<![=!<>])=(?!=)\s*$", plain):
        return "function"
    return "block"


def _is_initializer(header):
    """A brace that starts a value, not a body: `x_{`, `= {`, `int a[] {`."""
    plain = _MACRO_CALL.sub(" ", header).rstrip()
    if re.search(r"(?<!operator)=$", plain):
        return True
    if re.search(r"\)\s*(noexcept\s*)?:(?!:).*[:,]?\s*[\w:<>, ]*\w>?$", plain, re.DOTALL):
        return not plain.endswith(")")
    if re.match(r"\s*(template|class|struct|union|enum|namespace|extern|typedef)\b", plain):
        return False
    return "(" not in plain and bool(re.search(r"\w[\w>\]]*$", plain)) and " " in plain.strip()


class _Parser:
    def __init__(self, text):
        self.code = strip(text)
        self.scopes, self.statements = [], []
        self.stack = [Scope("file", "", 1, None)]
        self.start, self.parens, self.at = 0, 0, 0

    def run(self):
        while self.at < len(self.code):
            char = self.code[self.at]
            if char == "(":
                self.parens += 1
            elif char == ")":
                self.parens = max(0, self.parens - 1)
            elif char == "{":
                self._open()
            elif char == "}":
                self._close()
            elif char == ";" and self.parens == 0:
                self._statement()
            self.at += 1
        return self.scopes, self.statements

    def _header(self):
        raw = self.code[self.start:self.at]
        stripped = re.sub(r"^\s*((public|private|protected)\s*:(?!:)\s*)*", "", raw)
        return stripped, line_of(self.code, self.start + len(raw) - len(stripped))

    def _open(self):
        header, line = self._header()
        top = self.stack[-1]
        declarative = top.kind in ("file", "namespace", "class", "enum")
        if self.parens > 0 or (declarative and _is_initializer(header)):
            self._skip_braces()
            return
        self.stack.append(Scope(_kind(header, top), header, line, top))
        self.scopes.append(self.stack[-1])
        self.start = self.at + 1

    def _skip_braces(self):
        depth = 0
        while self.at < len(self.code):
            depth += {"{": 1, "}": -1}.get(self.code[self.at], 0)
            if depth == 0:
                return
            self.at += 1

    def _close(self):
        if len(self.stack) > 1:
            self.stack.pop().last_line = line_of(self.code, self.at)
        self.start = self.at + 1

    def _statement(self):
        header, line = self._header()
        if header:
            self.statements.append(Statement(header, line, self.stack[-1]))
        self.start = self.at + 1


def parse(text):
    """(scopes with their line ranges, statements)."""
    return _Parser(text).run()


def functions(text):
    """Scopes that are bodies of functions, without those inside other functions."""
    return [scope for scope in parse(text)[0] if scope.kind == "function"]


def parameters(header):
    """The texts of the parameters in a function's header; None where it is not one."""
    plain = _MACRO_CALL.sub(" ", header)
    plain = re.sub(r"operator\s*\(\s*\)", "operator_call", plain)
    match = re.search(r"[\w~>=\]!+*/<-]\s*\(", plain)
    if not match or re.search(r"(?<![=!<>])=(?!=)", plain[:match.start()].split("operator")[0]):
        return None
    found, depth, current = [], 0, ""
    for char in plain[match.end():]:
        if char == ")" and depth == 0:
            if current.strip():
                found.append(current.strip())
            return found
        depth += {"(": 1, "[": 1, "{": 1, "<": 1, ")": -1, "]": -1, "}": -1, ">": -1}.get(char, 0)
        if char == "," and depth == 0:
            found.append(current.strip())
            current = ""
        else:
            current += char
    return None
