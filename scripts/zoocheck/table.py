"""The table that scripts/zoo prints."""

OK, REFUSED, FAILED, ABSENT = "ok", "refused", "FAILED", "–"


def write(cases, pythons, ways, results):
    """Prints a line for each case and a column for each Python. A cell has the verdict of each way."""
    cells = {(case.name, p.name): " ".join(results[case.name, p.name, way][0] for way in ways)
             for case in cases for p in pythons}
    for (case, python), text in cells.items():
        if set(text.split()) == {ABSENT}:
            cells[case, python] = ABSENT
    first = max(len(case.name) for case in cases)
    widths = [max([len(p.name)] + [len(cells[case.name, p.name]) for case in cases]) for p in pythons]
    print("\n%-*s  %s   (%s)" % (first, "", "  ".join(p.name.ljust(w) for p, w in zip(pythons, widths)), ", ".join(ways)))
    for case in cases:
        row = "  ".join(cells[case.name, p.name].ljust(w) for p, w in zip(pythons, widths))
        print(("%-*s  %s" % (first, case.name, row)).rstrip())


def absences(results):
    """Prints what could not be tried, by reason."""
    absent = {}
    for (case, python, _), (verdict, why) in results.items():
        if verdict == ABSENT and not why[0].startswith("not for "):
            absent.setdefault(why[0], set()).add("%s (%s)" % (case, python))
    for why, names in absent.items():
        print("\nnot tried: %s: %s" % (why, ", ".join(sorted(names))))


def failures(results):
    """Prints what failed, and why, once more below the table, where users look for it."""
    for (case, python, way), (verdict, why) in results.items():
        if verdict == FAILED:
            print("\n%s, %s, %s:%s" % (case, python, way, "".join("\n    " + line for line in why)))


def summary(cases, pythons, ways, results):
    count = {verdict: sum(v == verdict for v, _ in results.values()) for verdict in (OK, REFUSED, FAILED, ABSENT)}
    print("\n%d programs, %d Pythons, %s: %d ok, %d refused as described, %d failed, %d not for this Python" % (
        len(cases), len(pythons), " and ".join(ways), count[OK], count[REFUSED], count[FAILED], count[ABSENT]))
    return count[FAILED]
