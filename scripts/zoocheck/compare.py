"""What differs between a run with vramscope and one without."""

import difflib
import re


def differences(case, plain, other, sockets_more):
    """Returns lines that say what differs, none if the runs agree."""
    found = list(other.problems)
    if other.exit != plain.exit:
        found.append("exit code %s, alone %s" % (other.exit, plain.exit))
    for name in ("output", "errors"):
        found += _lines({"output": "stdout", "errors": "stderr"}[name], getattr(plain, name), getattr(other, name))
    if not found:
        for lines, sockets in other.views:
            found += _closest(lines, sockets, plain.views, sockets_more)
    more = sorted(path for path in other.left - plain.left if not (case.leaves and re.search(case.leaves, path)))
    found += ["left behind: " + path for path in more]
    found += ["missing: " + path for path in sorted(plain.left - other.left)]
    return found


def _lines(name, before, after):
    changes = [line for line in difflib.unified_diff(before or [], after or [], lineterm="", n=0)
               if line[0] in "+-" and line[:3] not in ("+++", "---")]
    return ["%s %s" % (name, line) for line in changes[:12]]


def _closest(lines, sockets, plain, more):
    """The differences between this view and the most similar view of the plain run."""
    best = None
    for before, count in plain:
        found = _lines("seen in /proc", before, lines)
        if sockets > count + more:
            found.append("%d sockets and pipes, alone %d" % (sockets, count))
        if best is None or len(found) < len(best):
            best = found
    return best or []
