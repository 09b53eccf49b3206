"""The files under check, and the registry of rules."""

import os
import re
import subprocess


class Finding:
    def __init__(self, path, line, text):
        self.path, self.line, self.text = path, line, text

    def __str__(self):
        return f"{self.path}:{self.line}: {self.text}"


class Skip(Exception):
    """A rule cannot run on this machine; the text says why."""


class Tree:
    """Relative path -> text. Rules see only this, so that their samples are small dictionaries."""

    def __init__(self, files, root=None):
        self.files, self.root = files, root

    @staticmethod
    def read(root):
        files = {}
        for path in sorted(_list_files(root)):
            try:
                with open(os.path.join(root, path), encoding="utf-8") as file:
                    files[path] = file.read()
            except (UnicodeDecodeError, FileNotFoundError, IsADirectoryError):
                continue
        return Tree(files, root)

    def matching(self, pattern):
        """(path, text) of every file whose whole path matches the regular expression."""
        compiled = re.compile(pattern)
        return [(path, text) for path, text in self.files.items() if compiled.fullmatch(path)]

    def cpp(self):
        return self.matching(r".*\.(h|cc)")

    def production_cpp(self):
        return [(path, text) for path, text in self.cpp() if not path.startswith("tests/")]


def _list_files(root):
    if os.path.exists(os.path.join(root, ".git")):
        command = ["git", "-C", root, "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        try:
            listed = subprocess.run(command, capture_output=True, check=True).stdout
            return [name for name in listed.decode().split("\0") if name]
        except (OSError, subprocess.CalledProcessError):
            pass
    return _walk(root)


def _walk(root):
    found = []
    for folder, folders, names in os.walk(root):
        folders[:] = [name for name in folders if name not in (".git", "__pycache__") and
                      not (folder == root and name.startswith("build"))]
        found += [os.path.relpath(os.path.join(folder, name), root) for name in names]
    return found


RULES = {}


class Rule:
    def __init__(self, name, check, bad, good):
        self.name, self.check, self.bad, self.good = name, check, bad, good

    def self_test(self):
        """Problems of the rule itself: a bad sample that passes, a good one that does not."""
        problems = []
        for sample in self.bad:
            if not self.check(Tree(sample)):
                problems.append(f"bad sample passes: {sample}")
        for sample in self.good:
            problems += [f"good sample is flagged: {finding}" for finding in self.check(Tree(sample))]
        if not self.bad or not self.good:
            problems.append("a rule needs bad and good samples")
        return problems


def rule(name, bad, good):
    """Registers check(tree) -> [Finding]; bad and good are lists of {path: text}."""
    def register(check):
        assert name not in RULES
        RULES[name] = Rule(name, check, bad, good)
        return check
    return register


def line_of(text, offset):
    return text.count("\n", 0, offset) + 1


def grep(path, text, pattern, message, flags=0):
    """One finding for each line that matches."""
    compiled = re.compile(pattern, flags)
    findings = []
    for number, line in enumerate(text.split("\n"), 1):
        match = compiled.search(line)
        if match:
            findings.append(Finding(path, number, f"{message}: {match.group(0).strip()}"))
    return findings
