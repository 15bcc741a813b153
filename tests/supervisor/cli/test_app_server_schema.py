"""Files that describe the app-server's interface."""

import json
from pathlib import Path

from pycodex.supervisor.cli.app_server_schema import generate_json_schema, generate_ts


def test_schemas_are_written_below_a_directory_that_need_not_exist(tmp_path: Path) -> None:
    out = tmp_path / "a" / "b"
    generate_json_schema(out, experimental=False)
    schema = json.loads((out / "v2" / "TurnStartParams.json").read_text(encoding="utf-8"))
    assert schema["title"] == "TurnStartParams"
    assert (out / "codex_app_server_protocol.v2.schemas.json").is_file()


def test_experimental_methods_have_files_when_asked_for(tmp_path: Path) -> None:
    generate_json_schema(tmp_path, experimental=True)
    assert (tmp_path / "v2" / "ThreadRealtimeStartParams.json").is_file()


def test_types_are_written_beside_what_is_there(tmp_path: Path) -> None:
    (tmp_path / "mine.ts").write_text("export {};\n")
    generate_ts(tmp_path, experimental=False)
    assert (tmp_path / "mine.ts").read_text() == "export {};\n"
    assert "export * as v2" in (tmp_path / "index.ts").read_text(encoding="utf-8")
