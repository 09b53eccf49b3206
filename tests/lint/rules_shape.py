"""Sizes and names."""

import ast
import re

import cpp_text
from tree import Finding, rule

MAX_FILE_LINES = 500
MAX_FUNCTION_LINES = 70
MAX_PARAMETERS = 4

_CODE = r".*\.(h|cc|py|sh)|\.ci/run"


@rule("file-length",
      bad=[{"base/a.cc": "int x;\n" * 501}],
      good=[{"base/a.cc": "int x;\n" * 500}, {"docs/A.md": "line\n" * 501}])
def file_length(tree):
    """Files are split at 500 lines."""
    return [Finding(path, MAX_FILE_LINES, f"{text.count(chr(10))} lines; split files at {MAX_FILE_LINES}")
            for path, text in tree.matching(_CODE) if text.count("\n") > MAX_FILE_LINES]


def _long(path, name, first, last):
    lines = last - first + 1
    if lines <= MAX_FUNCTION_LINES:
        return []
    return [Finding(path, first, f"{name} has {lines} lines; functions have at most {MAX_FUNCTION_LINES}")]


def _name(header):
    match = re.search(r"([\w:~]+)\s*\(", header)
    return match.group(1) if match else "function"


_BODY = "  Step();\n"


@rule("function-length",
      bad=[{"base/a.cc": "namespace k {\nint F(int a) {\n" + _BODY * 69 + "}\n}\n"},
           {"base/a.cc": "A::A(int b) : b_(b), c_{1}, d_{} {\n" + _BODY * 70 + "}\n"},
           {"base/a.h": "class KVP_X(\"m\") A final : public B {\n public:\n  int F(X x = {}) const override {\n" + _BODY * 70 +
            "  }\n};\n"},
           {"base/a.cc": "TEST(A, B) {\n" + _BODY * 40 + "  auto f = [](int x) {\n" + _BODY * 30 + "  };\n}\n"},
           {"tests/a.py": "def f():\n" + "    pass\n" * 70}],
      good=[{"base/a.cc": "namespace k {\nint F(int a) {\n" + _BODY * 68 + "}\n}\n"},
            {"base/a.h": "class A {\n" + "  int F() { return 1; }\n" * 100 + "};\n"},
            {"base/a.cc": "constexpr int kTable[] = {\n" + "  1,\n" * 100 + "};\nenum class E {\n" + "  kA,\n" * 80 + "};\n"}])
def function_length(tree):
    """Functions have at most 70 lines, the signature included."""
    findings = []
    for path, text in tree.cpp():
        for scope in cpp_text.functions(text):
            findings += _long(path, _name(scope.header), scope.line, scope.last_line)
    for path, text in tree.matching(r".*\.py"):
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                findings += _long(path, node.name, node.lineno, node.end_lineno)
    return findings


_NOT_A_FUNCTION = re.compile(r"\s*(using|typedef|static_assert|return|friend|extern\s*$)\b")


def _declarations(text):
    """(header, line) of every function that is declared or defined outside of function bodies."""
    scopes, statements = cpp_text.parse(text)
    found = [(scope.header, scope.line) for scope in scopes if scope.kind == "function"]
    return found + [(statement.text, statement.line) for statement in statements
                    if statement.scope.kind in ("file", "namespace", "class") and
                    not _NOT_A_FUNCTION.match(statement.text)]


@rule("parameters",
      bad=[{"base/a.h": "int F(int a, std::map<int, int> b, int c, int d,\n      int e);\n"},
           {"base/a.h": "class A {\n public:\n  A(int a, int b, int c, int d, int e) : a_(a) {}\n};\n"},
           {"base/a.cc": "fuse_req_t F(int a, int b, int c, int d, int e) {}\n"},
           {"spill/a.cc": "void F(fuse_req_t r, int b, int c, int d, int e) {}\n"},
           {"meta/a.h": "void F(int a, int b, int c, int d, int e, Completion<void> done);\n"}],
      good=[{"base/a.h": "int F(std::function<void(int, int, int)> a, std::map<int, int> b, int c = F(1, 2), int d);\n"},
            {"fs/a.cc": "void Write(fuse_req_t r, fuse_ino_t i, const char* b, size_t n, off_t o, fuse_file_info* f) {}\n"},
            {"meta/a.h": "void F(int a, int b, int c, int d, Completion<Foo> done);\n"},
            {"base/a.cc": "int F() {\n  return G(1, 2, 3, 4, 5);\n}\nconst X kX = Make(1, 2, 3, 4, 5);\n"}])
def parameters(tree):
    """More than 4 parameters become a struct.

    Callbacks of libfuse (first parameter fuse_req_t, in fs/) have its shape; a Completion stands for the return value
    of an asynchronous call and does not count.
    """
    findings = []
    for path, text in tree.cpp():
        for header, line in _declarations(text):
            found = cpp_text.parameters(header)
            if found and found[-1].startswith("Completion<"):
                found.pop()
            if found is None or len(found) <= MAX_PARAMETERS:
                continue
            if path.startswith(("fs/", "tests/")) and found[0].startswith("fuse_req_t"):
                continue
            findings.append(Finding(path, line, f"{_name(header)} has {len(found)} parameters; make a struct of them"))
    return findings


@rule("file-names",
      bad=[{"base/PageHeader.h": ""}, {"base/a-b.cc": ""}, {"fs/x.cpp": ""}, {"tests/X.py": ""}, {"scripts/A.sh": ""}],
      good=[{"base/page_header.h": "", "fs/kvpagefs_main.cc": "", "scripts/ci/chroot.sh": "", "docs/DESIGN.md": ""}])
def file_names(tree):
    """Sources are snake_case.{h,cc}."""
    findings = []
    for path, _ in tree.matching(r"(.*/)?[^/]+\.(h|hpp|hh|cc|cpp|cxx|c|py|sh)"):
        if not re.fullmatch(r"(.*/)?[a-z][a-z0-9]*(_[a-z0-9]+)*\.(h|cc|py|sh)", path):
            findings.append(Finding(path, 1, "file names are snake_case with the ending .h, .cc, .py or .sh"))
    return findings


@rule("header-start",
      bad=[{"base/a.h": "#pragma once\n"}, {"base/a.h": "// What it is.\n#include <x>\n#pragma once\n"}],
      good=[{"base/a.h": "// What it is.\n//\n// More.\n#pragma once\n#include <x>\n"}, {"tests/a.h": "#pragma once\n"}])
def header_start(tree):
    """A header says what it is, then `#pragma once`."""
    findings = []
    for path, text in tree.matching(r".*\.h"):
        lines = [line for line in text.split("\n") if line.strip()]
        comments = 0
        while comments < len(lines) and lines[comments].startswith("//"):
            comments += 1
        if comments == 0 and not path.startswith("tests/"):
            findings.append(Finding(path, 1, "a header starts with a comment that says what it is"))
        if lines[comments:comments + 1] != ["#pragma once"]:
            findings.append(Finding(path, comments + 1, "`#pragma once` comes first"))
    return findings
