"""Words and calls that do not belong."""

import os
import re

import cpp_text
from tree import grep, line_of, Finding, rule

# The samples of the rules contain what the rules forbid.
_ANY = r"(?!tests/lint/).*"


@rule("forbidden-words",
      bad=[{"base/a.cc": "// TODO: x\n"}, {"README.md": "Works for now.\n"}, {"scripts/a.sh": "# FIXME\n"},
           {"fs/a.cc": 'return "Not implemented";\n'}],
      good=[{"base/a.cc": 'char name[] = "/tmp/testXXXXXX"; // a to-do list\n'}])
def forbidden_words(tree):
    """Notes to self and promises."""
    findings = []
    for path, text in tree.matching(_ANY):
        findings += grep(path, text, r"\b(TODO|FIXME|XXX|HACK)\b", "finish it or leave it out")
        findings += grep(path, text, r"\b(for now|not implemented|not yet implemented|temporary workaround)\b",
                         "finish it or leave it out", re.IGNORECASE)
    return findings


@rule("sleeping-tests",
      bad=[{"tests/unit/base/a_test.cc": "std::this_thread::sleep_for(1ms);\n"},
           {"tests/mount/a.cc": "  sleep(1);\n"}, {"tests/mount/a.cc": "usleep(10);\n"}, {"tests/a.py": "time.sleep(1)\n"}],
      good=[{"tests/support/wait_for.h": "std::this_thread::sleep_for(1ms);\n"}, {"tests/a_test.cc": "// no sleep(1)\n"}])
def sleeping_tests(tree):
    """Tests wait for a condition; only the polling helpers, named wait* or poll*, sleep."""
    findings = []
    for path, text in tree.matching(r"tests/(?!lint/).*\.(h|cc|py)"):
        if re.match(r"(wait|poll)", os.path.basename(path)):
            continue
        code = text if path.endswith(".py") else cpp_text.strip(text)
        findings += grep(path, code, r"\b(sleep_for|sleep_until|usleep|nanosleep|sleep)\s*\(", "wait for a condition")
    return findings


@rule("environment",
      bad=[{"fs/node.cc": 'getenv("HOME");\n'}, {"tools/a.h": "secure_getenv(x);\n"}, {"spill/a.cc": "x = std::getenv(y);\n"}],
      good=[{"fs/kvpagefs_main.cc": "getenv(x);\n", "tools/bench_options.cc": "getenv(x);\n", "base/log.cc": "getenv(x);\n",
             "tests/a.cc": "getenv(x);\n", "base/b.cc": "// getenv\n"}])
def environment(tree):
    """The environment is read where options are."""
    findings = []
    for path, text in tree.production_cpp():
        if re.fullmatch(r".*_main\.cc|.*options[a-z_]*\.cc|base/log\.cc", path):
            continue
        findings += grep(path, cpp_text.strip(text), r"\b(secure_getenv|getenv|setenv|putenv)\b", "read it in *_main.cc or *options*.cc")
    return findings


@rule("library-output",
      bad=[{"base/a.cc": "std::cout << 1;\n"}, {"fs/a.cc": "printf(x);\n"}, {"meta/a.cc": "fmt::print(x);\n"}],
      good=[{"fs/kvpagefs_main.cc": "std::cout << 1;\n", "tools/a.cc": "std::cout << 1;\n", "base/a.cc": "snprintf(a, 1, x);\n",
             "fs/b.cc": 'fmt::print(stderr, "x");\n'}])
def library_output(tree):
    """Libraries return text or log it; programs print. Start-up errors may go to standard error by fmt::print."""
    findings = []
    for path, text in tree.production_cpp():
        if path.startswith("tools/") or path.endswith("_main.cc"):
            continue
        findings += grep(path, cpp_text.strip(text), r"std::(cout|cerr|clog)\b|\b(printf|fprintf|puts|fputs|fmt::print)\s*\((?!stderr, )",
                         "only *_main.cc prints")
    return findings


@rule("raw-locks",
      bad=[{"fs/a.h": "std::mutex m_;\n"}, {"spill/a.cc": "std::lock_guard<Mutex> l(m);\n"},
           {"meta/a.h": "std::condition_variable c_;\n"}],
      good=[{"base/mutex.h": "std::mutex m_;\n", "fs/a.h": "Mutex m_;\n", "tests/a.cc": "std::mutex m;\n"}])
def raw_locks(tree):
    """Locks carry annotations: base/mutex.h."""
    findings = []
    for path, text in tree.production_cpp():
        if path != "base/mutex.h":
            findings += grep(path, cpp_text.strip(text), r"std::(recursive_|shared_|timed_)?(mutex|lock_guard|unique_lock|"
                             r"scoped_lock|condition_variable(_any)?)\b|\bpthread_mutex_t\b", "use base/mutex.h")
    return findings


@rule("asserts-stay",
      bad=[{"fs/a.cc": "#define NDEBUG\n"}, {"CMakeLists.txt": 'set(X "-O2 -DNDEBUG")\n'}],
      good=[{"CMakeLists.txt": "# Assertions stay on in every build: no NDEBUG.\n"}])
def asserts_stay(tree):
    """Assertions are on in every build."""
    findings = []
    for path, text in tree.matching(r"(?!tests/lint/).*(\.(h|cc|cmake|json)|CMakeLists\.txt)"):
        findings += grep(path, text, r"-DNDEBUG|#\s*define\s+NDEBUG", "assertions stay on")
    return findings


@rule("machine-paths",
      bad=[{"README.md": "see /home/me/x\n"}, {"scripts/a.sh": "cd /work/x\n"}, {"tests/a.cc": 'Open("../elsewhere/x");\n'},
           {"docs/A.md": "[x](../../outside.md)\n"}],
      good=[{"scripts/a.sh": 'top=$(cd "$here/../.." && pwd)\n', "docs/A.md": "[x](../README.md)\n", "README.md": ""},
            {"tests/a.cc": '#include "../b.h"\n', "b.h": ""}])
def machine_paths(tree):
    """Nothing outside the tree is named by a path of one machine."""
    findings = []
    for path, text in tree.matching(_ANY):
        findings += grep(path, text, r"(?<![\w.}])/(home|root|work|Users)/", "a path of one machine")
        for match in re.finditer(r"(?<![\w./}])(\.\./)+[A-Za-z][\w./-]*", text):
            target = os.path.normpath(os.path.join(os.path.dirname(path), match.group(0))).rstrip(".")
            if target not in tree.files and not any(name.startswith(target + "/") for name in tree.files):
                findings.append(Finding(path, line_of(text, match.start()), f"leads out of the tree: {match.group(0)}"))
    return findings
