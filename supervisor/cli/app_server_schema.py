"""`pycodex app-server generate-json-schema` and `generate-ts`: the interface, written down for its clients."""

import json
from pathlib import Path


def generate_json_schema(out: Path, *, experimental: bool) -> None:
    """Write the JSON Schemas below `out`; what is there by other names stays."""
    from pycodex.supervisor.frontends.app_server.schema import json_schema

    for path, schema in json_schema.files(experimental=experimental).items():
        _write(out / path, json.dumps(schema, indent=2, ensure_ascii=False))


def generate_ts(out: Path, *, experimental: bool) -> None:
    """Write the TypeScript types below `out`; what is there by other names stays."""
    from pycodex.supervisor.frontends.app_server.schema import typescript

    for path, source in typescript.files(experimental=experimental).items():
        _write(out / path, source)


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
