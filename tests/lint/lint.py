#!/usr/bin/env python3
"""House rules as tests: lint.py [--root DIR] RULE... | --list. Exit status: 0, 1 with findings, 77 when skipped.

Every rule first proves on its samples that it flags what it should and nothing else.
"""

import argparse
import os
import sys

import rules_docs  # noqa: F401
import rules_layers  # noqa: F401
import rules_shape  # noqa: F401
import rules_words  # noqa: F401
from tree import RULES, Skip, Tree


def run(rule, tree):
    problems = rule.self_test()
    for problem in problems:
        print(f"{rule.name}: {problem}")
    findings = rule.check(tree)
    for finding in findings:
        print(f"{finding} [{rule.name}]")
    return not problems and not findings


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", default=os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
    parser.add_argument("--list", action="store_true", help="print the names of the rules")
    parser.add_argument("rules", nargs="*", help="default: all")
    arguments = parser.parse_args()
    if arguments.list:
        print("\n".join(sorted(RULES)))
        return 0
    unknown = [name for name in arguments.rules if name not in RULES]
    if unknown:
        parser.error(f"no rule '{unknown[0]}'; --list prints them")
    tree = Tree.read(arguments.root)
    status = 0
    for name in arguments.rules or sorted(RULES):
        try:
            if not run(RULES[name], tree):
                status = 1
        except Skip as reason:
            print(f"SKIP: {name}: {reason}")
            status = status or 77
    return status


if __name__ == "__main__":
    sys.exit(main())
