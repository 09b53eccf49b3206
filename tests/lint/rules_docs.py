"""Documents agree with the code and with each other; scripts and manual pages pass their own checkers."""

import os
import re
import shutil
import subprocess
import tempfile

from tree import Finding, Skip, line_of, rule

# manual page -> sources that define the options of its program
MANUALS = {
    "man/kvpagefs.8": r"fs/.*options[a-z_]*\.cc|fs/kvpagefs_main\.cc",
    "man/kvpagemetad.8": r"meta/kvpagemetad_[a-z_]*\.cc|daemon/program_options\.cc",
    "man/kvpagebench.1": r"tools/.*options[a-z_]*\.cc|tools/kvpagebench_main\.cc",
    "man/kvpagectl.8": r"tools/fsck_command\.cc|tools/kvpagectl_main\.cc",
}

# Boost.Program_options: add_options()("name,n", ...), add("name", ...); the option table: OptionRow{"name", ...}, ProgramOption{"name", ...}.
_DEFINITION = re.compile(r"(?:(?<![\w>])\(|\badd\(|\b(?:OptionRow|ProgramOption)\{)\s*\"([a-z][a-z0-9-]+)(?:,[A-Za-z])?\"\s*[,)]")
_POSITIONAL = re.compile(r"[.>]add\(\s*\"([a-z][a-z0-9-]*)\"\s*,\s*-?\d+\s*\)")


def _defined(tree, sources):
    """option -> (path, line)"""
    found, positional = {}, set()
    for path, text in tree.matching(sources):
        for match in _DEFINITION.finditer(text):
            found.setdefault(match.group(1), (path, line_of(text, match.start())))
        positional.update(match.group(1) for match in _POSITIONAL.finditer(text))
    return {name: place for name, place in found.items() if name not in positional}


def _documented(text):
    """option -> line"""
    found = {}
    for number, line in enumerate(text.split("\n"), 1):
        if line.startswith('.\\"'):
            continue
        plain = re.sub(r"\\f[A-Z]|\\f\([A-Z]{2}", "", line.replace("\\-", "-"))
        plain = re.sub(r"\bFl Fl ", "--", re.sub(r"\bFl -(?=\w)", "--", plain))
        for match in re.finditer(r"(?<![\w-])--([a-z][a-z0-9-]*[a-z0-9])", plain):
            found.setdefault(match.group(1), number)
    return found


@rule("options-documented",
      bad=[{"man/kvpagefs.8": ".B \\-\\-memory\n", "fs/options.cc": 'add()("memory,m", x)("quiet", "be quiet");\n'},
           {"man/kvpagefs.8": "\\-\\-memory \\fB\\-\\-gone\\fR\n", "fs/options.cc": 'add()("memory", x);\n'},
           {"man/kvpagebench.1": ".Fl -dir\n", "tools/micro_options.cc": 'add()\n    ("dir", x)\n    ("against", x);\n'},
           {"man/kvpagefs.8": "x\n", "fs/options_table.cc": 'OptionRow{\n  "memory", x};\n'}],
      good=[{"man/kvpagefs.8": ".Fl Fl memory Fl -max-page \\-\\-help\n",
             "fs/options.cc": 'add()("memory,m", x)("help", "y");\nOptionRow{"max-page", x};\nF("not-one", 2);\n'
                              'add()("target", x);\npositional.add("target", 1);\n'},
            {"fs/options.cc": ""}])
def options_documented(tree):
    """Every --option is in the manual page of its program, and the other way round."""
    findings = []
    for manual, sources in MANUALS.items():
        defined = _defined(tree, sources)
        if manual not in tree.files:
            if defined:
                findings.append(Finding(manual, 1, "missing"))
            continue
        documented = _documented(tree.files[manual])
        for name in sorted(defined.keys() - documented.keys()):
            findings.append(Finding(*defined[name], f"--{name} is not in {manual}"))
        for name in sorted(documented.keys() - defined.keys()):
            findings.append(Finding(manual, documented[name], f"--{name} is no option of the program"))
    return findings


@rule("links",
      bad=[{"README.md": "see [x](docs/none.md)\n"}, {"docs/A.md": "[x](README.md)\n", "README.md": ""},
           {"README.md": "[x](#nowhere)\n# Here\n"}],
      good=[{"docs/A.md": "[x](../README.md#the-tour) [y](https://example.org/z) `[z](none.md)`\n", "README.md": "## The tour\n"},
            {"README.md": "[x](docs)\n```\n[x](none.md)\n```\n", "docs/A.md": ""}])
def links(tree):
    """Relative links in documents lead to files and headings that exist."""
    findings = []
    for path, text in tree.matching(r".*\.md"):
        prose = re.sub(r"```.*?```|`[^`\n]*`", lambda m: re.sub(r"[^\n]", " ", m.group(0)), text, flags=re.DOTALL)
        for match in re.finditer(r"\]\(([^)\s]+)\)", prose):
            target, _, anchor = match.group(1).partition("#")
            if re.match(r"[a-z]+:", target):
                continue
            file = os.path.normpath(os.path.join(os.path.dirname(path), target)) if target else path
            if file not in tree.files and not any(name.startswith(file + "/") for name in tree.files):
                findings.append(Finding(path, line_of(prose, match.start()), f"no such file: {target}"))
            elif anchor and file in tree.files and anchor not in _anchors(tree.files[file]):
                findings.append(Finding(path, line_of(prose, match.start()), f"no such heading: {match.group(1)}"))
    return findings


def _anchors(text):
    headings = re.findall(r"^#+\s+(.*?)\s*$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def _check_with(tree, files, command):
    """Runs `command FILE` on each file; its output lines are the findings. Samples become files for it."""
    if not shutil.which(command[0]):
        raise Skip(f"{command[0]} is missing; scripts/setup.sh --ci installs it")
    findings = []
    with tempfile.TemporaryDirectory() as folder:
        for path, text in files:
            if tree.root is None:
                os.makedirs(os.path.dirname(os.path.join(folder, path)), exist_ok=True)
                with open(os.path.join(folder, path), "w", encoding="utf-8") as file:
                    file.write(text)
            done = subprocess.run([*command, path], cwd=tree.root or folder, capture_output=True, text=True, check=False)
            lines = [line for line in (done.stdout + done.stderr).split("\n") if line.strip()]
            if done.returncode != 0:
                findings += [Finding(path, 1, line) for line in lines or [f"{command[0]} fails"]]
    return findings


_PAGE = '.TH X 1 2026-01-01 "kvpagefs"\n.SH NAME\nx \\- does x\n.SH DESCRIPTION\nText.\n'


@rule("manual-pages",
      bad=[{"man/x.1": _PAGE + ".BADMACRO x\n"}],
      good=[{"man/x.1": _PAGE}])
def manual_pages(tree):
    """mandoc has no warnings."""
    return _check_with(tree, tree.matching(r"man/.*\.[1-8]"), ["mandoc", "-Tlint", "-Wwarning"])


@rule("shell-scripts",
      bad=[{"scripts/a.sh": "#!/bin/bash\nset -euo pipefail\nrm $1\n"}, {".ci/run": "#!/bin/bash\nset -euo pipefail\necho $(ls *)\n"},
           {"scripts/a.sh": "#!/bin/bash\necho a\n"}],
      good=[{"scripts/a.sh": '#!/usr/bin/env bash\nset -euo pipefail\nrm "$1"\n'}])
def shell_scripts(tree):
    """shellcheck has nothing to say; scripts stop at errors."""
    scripts = tree.matching(r"\.ci/run|.*\.sh")
    findings = [Finding(path, 1, "`set -euo pipefail` is missing") for path, text in scripts
                if not re.search(r"^set -euo pipefail$", text, re.MULTILINE)]
    return findings + _check_with(tree, scripts, ["shellcheck", "--external-sources"])
