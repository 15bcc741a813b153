"""Runs one attack: `python -I -S -B run.py FAMILY ATTACK WORLD`, and reports in one line of JSON.

WORLD is the JSON of paths, process ids and addresses to attack. The report is `{"achieved": bool, "errno": str|null,
"detail": ...}`; no report at all means that the attacker itself is broken, which a test must not take for "stopped".
"""

import importlib
import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))

from escape.programs.rawcalls import Tally, error_name


def main(family: str, attack: str, world_json: str) -> int:
    world = json.loads(world_json)
    action = getattr(importlib.import_module(f"escape.programs.{family}"), attack)
    report: dict[str, object] = {"achieved": False, "errno": None, "detail": None}
    try:
        result = action(world)
    except OSError as error:
        report |= {"errno": error_name(error), "detail": str(error)}
    else:
        report |= {"achieved": bool(result), "detail": result.plain() if isinstance(result, Tally) else result}
    print(json.dumps(report), flush=True)
    return int(world.get("exit_code", 0))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:4]))
