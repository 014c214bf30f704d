"""Reads a dashboard with Grafana's own types, and fails if they lose or change a part of it.

Source: https://pypi.org/project/grafana-foundation-sdk/, which Grafana generates from its schema.
"""
import json
import sys

from grafana_foundation_sdk.cog import encoder, plugins
from grafana_foundation_sdk.models import dashboard


def lost(path, given, read):
    """Yields each path of a dashboard that the types lose, and each value that they change."""
    if isinstance(given, dict) and isinstance(read, dict):
        for key, value in given.items():
            if key in read:
                yield from lost(path + "." + key, value, read[key])
            elif value not in (None, [], {}, False, ""):
                yield path + "." + key
    elif isinstance(given, list) and isinstance(read, list) and len(given) == len(read):
        for i, value in enumerate(given):
            yield from lost(f"{path}[{i}]", value, read[i])
    elif given != read:
        yield f"{path}: {given!r} is read as {read!r}"


plugins.register_default_plugins()
given = json.load(sys.stdin)
read = json.loads(encoder.JSONEncoder().encode(dashboard.Dashboard.from_json(given)))
wrong = list(lost("dashboard", given, read))
print("\n".join(wrong))
sys.exit(bool(wrong))
