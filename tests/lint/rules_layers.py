"""Arrows between folders point down; outside libraries stay where they belong; nothing mutable is global."""

import re

import cpp_text
from tree import Finding, line_of, rule

# folder -> folders whose headers it may include
LAYERS = {
    "base": {"base"},
    "daemon": {"daemon", "base"},
    "spill": {"spill", "base"},
    "meta": {"meta", "net", "daemon", "base"},
    "net": {"net", "base"},
    "fs": {"fs", "spill", "meta", "net", "daemon", "base"},
    "tools": {"tools", "spill", "base"},
}

# folder -> headers that other folders may include; base is public as a whole
PUBLIC = {
    "daemon": {"background.h", "option_values.h", "program_options.h", "secret_file.h"},
    "spill": {"extent.h", "memory_tier.h", "segment.h", "page_header.h", "ssd_log.h", "ssd_disk.h",
              "ssd_directory.h", "ssd_check.h"},
    "meta": {"embedded_meta.h", "meta_client.h", "page_description.h", "types.h", "xattr_list.h",
             "cluster.h", "remote_meta.h", "replica.h"},
    "net": {"address.h", "net_threads.h", "rpc.h"},
    "fs": set(),
    "tools": set(),
}

# headers of outside libraries -> files that may include them
LIBRARIES = [
    ("libfuse", r"fuse3?/.*|fuse[a-z_]*\.h", r"(fs|tests)/.*"),
    ("the kernel's FUSE protocol", r"linux/fuse\.h", r"(fs|tests)/.*"),
    ("LMDB", r"lmdb\.h", r"(meta|tests/unit/meta)/.*"),
    ("liburing", r"liburing.*", r"(spill|tools|tests)/.*"),
    ("Asio", r"asio.*", r"(net|tests/unit/net)/.*"),
    ("spdlog", r"spdlog/.*", r"base/log\.cc"),
    ("libsystemd", r"systemd/.*", r"daemon/.*"),
    ("xxHash", r"xxh.*\.h", r"(base/checksum\.cc|tests/.*)"),
    ("libaio", r"libaio\.h", r"tests/.*"),
    ("Boost.Program_options", r"boost/program_options.*", r"(fs|tools)/.*"),
    ("the rest of Boost", r"boost/(?!program_options).*", r"(?!)"),
    ("prometheus-cpp", r"prometheus/.*", r"fs/.*|tests/unit/fs/.*"),
    ("JSON", r"nlohmann/.*", r"(fs|tools|tests)/.*"),
    ("GoogleTest", r"(gtest|gmock)/.*", r"tests/.*"),
]

_INCLUDE = re.compile(r"^[ \t]*#[ \t]*include[ \t]*([<\"])([^>\"]+)[>\"]", re.MULTILINE)


def _includes(text):
    return [(match.group(1), match.group(2), line_of(text, match.start())) for match in _INCLUDE.finditer(text)]


@rule("layers",
      bad=[{"base/a.h": '#include "spill/segment.h"\n', "spill/segment.h": ""},
           {"spill/a.cc": '#include "meta/types.h"\n', "meta/types.h": ""},
           {"meta/a.cc": '#include "fs/node.h"\n', "fs/node.h": ""},
           {"fs/a.cc": '#include "tools/a.h"\n', "tools/a.h": ""},
           {"fs/a.cc": '#include "node.h"\n', "fs/node.h": ""},
           {"fs/a.cc": '#include "tests/a.h"\n', "tests/a.h": ""},
           {"base/a.cc": '#include <kvp/a.h>\n#include "base/missing.h"\n'}],
      good=[{"fs/a.cc": '#include "fs/a.h"\n#include "spill/segment.h"\n#include <vector>\n', "fs/a.h": "", "spill/segment.h": ""},
            {"tests/unit/fs/a_test.cc": '#include "fs/node.h"\n', "fs/node.h": ""}])
def layers(tree):
    """`#include "folder/file.h"`, from the top of the tree, of this folder or one below it."""
    findings = []
    for path, text in tree.production_cpp():
        folder = path.split("/")[0]
        for mark, target, line in _includes(text):
            if mark != '"' or target.startswith(("absl/", "google/")) or target.endswith(".pb.h"):
                continue
            if target not in tree.files:
                findings.append(Finding(path, line, f'"{target}" is not a file of this tree, named from its top'))
            elif target.split("/")[0] not in LAYERS.get(folder, set()):
                findings.append(Finding(path, line, f'{folder}/ must not know "{target}"'))
    return findings


@rule("private-headers",
      bad=[{"fs/a.cc": '#include "spill/free_list.h"\n'}, {"tools/a.cc": '#include "fs/node.h"\n'},
           {"tests/unit/fs/a_test.cc": '#include "spill/free_list.h"\n'}],
      good=[{"fs/a.cc": '#include "spill/memory_tier.h"\n#include "fs/node.h"\n#include "base/anything.h"\n',
             "tests/unit/spill/a_test.cc": '#include "spill/free_list.h"\n', "tests/mount/a.cc": '#include "fs/node.h"\n'}])
def private_headers(tree):
    """Headers that are not in PUBLIC are for their folder and its tests."""
    findings = []
    for path, text in tree.cpp():
        unit = re.match(r"tests/unit/([a-z]+)/", path)
        folder = unit.group(1) if unit else path.split("/")[0]
        if folder == "tests":
            continue
        for mark, target, line in _includes(text):
            owner, _, name = target.partition("/")
            if mark == '"' and owner in PUBLIC and owner != folder and name not in PUBLIC[owner]:
                findings.append(Finding(path, line, f'"{target}" is private to {owner}/'))
    return findings


@rule("generated-headers",
      bad=[{"tools/a.cc": '#include "meta/meta.pb.h"\n'}, {"meta/a.cc": '#include "meta.pb.h"\n', "meta/meta.proto": ""},
           {"meta/a.cc": '#include "meta/other.pb.h"\n', "meta/meta.proto": ""}],
      good=[{"meta/a.cc": '#include "meta/meta.pb.h"\n', "fs/a.cc": '#include "meta/meta.pb.h"\n',
             "tests/unit/meta/a_test.cc": '#include "meta/meta.pb.h"\n', "meta/meta.proto": ""}])
def generated_headers(tree):
    """Messages stay in meta/ and fs/, and each has its .proto."""
    findings = []
    for path, text in tree.cpp():
        for _, target, line in _includes(text):
            if not target.endswith(".pb.h"):
                continue
            if not re.match(r"(meta|fs|tests/unit/meta|tests/unit/fs)/", path):
                findings.append(Finding(path, line, f"messages are not for this file: {target}"))
            elif target.removesuffix(".pb.h") + ".proto" not in tree.files:
                findings.append(Finding(path, line, f"{target} is not made from a .proto of this tree"))
    return findings


@rule("library-headers",
      bad=[{"spill/a.cc": "#include <fuse3/fuse_lowlevel.h>\n"}, {"fs/a.cc": "#include <lmdb.h>\n"},
           {"fs/a.cc": "#include <liburing.h>\n"}, {"fs/a.cc": "#include <asio.hpp>\n"},
           {"base/log.h": "#include <spdlog/logger.h>\n"}, {"tools/a.cc": "#include <systemd/sd-daemon.h>\n"},
           {"fs/a.cc": "#include <boost/asio.hpp>\n"}, {"fs/a.cc": "#include <gtest/gtest.h>\n"}],
      good=[{"fs/a.cc": "#include <fuse_lowlevel.h>\n#include <vector>\n", "daemon/a.cc": "#include <systemd/sd-daemon.h>\n",
             "meta/a.cc": "#include <lmdb.h>\n", "base/log.cc": "#include <spdlog/logger.h>\n",
             "tests/mount/a.cc": "#include <liburing.h>\n#include <gtest/gtest.h>\n"}])
def library_headers(tree):
    """Each outside library stays inside the few files that need it."""
    findings = []
    for path, text in tree.cpp():
        for mark, target, line in _includes(text):
            for name, headers, users in LIBRARIES:
                if mark == "<" and re.fullmatch(headers, target) and not re.fullmatch(users, path):
                    findings.append(Finding(path, line, f"{name} is not for this file: <{target}>"))
                    break
    return findings


_NOT_A_VARIABLE = re.compile(
    r"\s*(using|typedef|namespace|class|struct|union|enum|template|friend|static_assert|return|public|private|protected|"
    r"case|default|goto|break|continue|operator)\b")


def _mutable(declaration):
    """Whether a declaration outside functions (or a static one inside) is of something that can change."""
    text = re.sub(r"\b(KVP_[A-Z_]+|alignas|__attribute__)\s*\((?:[^()]|\([^()]*\))*\)|\[\[[^\]]*\]\]", " ", declaration)
    text = re.sub(r"\boperator\s*[^\w\s(]+", "operator_", text)
    if _NOT_A_VARIABLE.match(text) or re.search(r"\bconstexpr\b|\bconsteval\b", text):
        return False
    head = re.split(r"(?<![=!<>])=(?!=)|\{", text)[0]
    # Parentheses right after a name are a function's parameters, unless they initialize a static local.
    if "(" in re.sub(r"<[^<>]*(<[^<>]*>)?[^<>]*>", " ", head) or not re.search(r"[\w>*&]\s+[*&]*\w[\w:]*(\s*\[[^\]]*\])*\s*$", head):
        return False
    if "*" in re.sub(r"<[^<>]*>", " ", head):
        return not re.search(r"\*\s*const\b", head)
    return not re.search(r"\bconst\b", head)


@rule("global-state",
      bad=[{"fs/a.cc": "namespace k {\nint counter = 0;\n}\n"}, {"fs/a.cc": "static std::map<int, int> g_map;\n"},
           {"fs/a.cc": "const char* name = \"\";\n"}, {"fs/a.cc": "std::atomic<int> stop{0};\n"},
           {"fs/a.cc": "int F() {\n  static int calls = 0;\n  return ++calls;\n}\n"}, {"fs/a.cc": "thread_local Buffer buffer;\n"},
           {"fs/a.h": "class A {\n  static int count_;\n};\n"}, {"fs/a.cc": "namespace {\nMutex mutex;\n}\n"}],
      good=[{"fs/a.cc": "namespace k {\nconstexpr int kA = 1;\nconst std::string kB = F(1);\nconst char* const kC = \"\";\n"
                        "constexpr const char* kD = \"\";\nint F(int a);\nstatic int G();\nstruct X;\nusing Y = int;\n"
                        "A& A::operator=(A&& a) = default;\ntemplate <class T>\nstruct Z {\n  int a = 0;\n  T* b;\n};\nResult<int> H(const X& x) { int i = 0; return i; }\n"
                        "constexpr std::array kT = {\n  Row{1, [](int x) { return x; }},\n};\n}\n"
                        "int F() {\n  static const int a = 1;\n  static_assert(a == 1);\n  for (int i = 0; i < 3; i++) G();\n  return 0;\n}\n"},
            {"fs/a.h": "class A {\n public:\n  static A Make(int x);\n  A& operator=(A&& a) = default;\n  static constexpr int kA = 1;\n private:\n  int b_ = 0;\n};\n"}])
def global_state(tree):
    """No global mutable state: two nodes live in one process."""
    findings = []
    for path, text in tree.production_cpp():
        for statement in cpp_text.parse(text)[1]:
            static = re.match(r"(inline\s+|constinit\s+)*(static|thread_local)\b", statement.text)
            if statement.scope.kind in ("file", "namespace") or (static and statement.scope.kind != "enum"):
                declaration = re.sub(r"\s+", " ", statement.text)
                if _mutable(declaration):
                    findings.append(Finding(path, statement.line, f"global mutable state: {declaration[:80]}"))
    return findings
