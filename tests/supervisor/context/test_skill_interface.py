"""How skills want to be shown."""

from pathlib import Path
from typing import Any

import pytest

from pycodex.supervisor.context.skill_interface import read_interface

FULL = """
interface:
  display_name: "  My   Skill "
  short_description: Short
  icon_small: ./assets/small.svg
  icon_large: assets/../../outside.png
  brand_color: "#1a2B3c"
  default_prompt: Do it
dependencies:
  tools:
    - type: mcp
      value: docs
      url: https://x
      transport: [1]
    - type: mcp
    - nonsense
"""


def told(folder: Path, text: str) -> dict[str, Any]:
    (folder / "agents").mkdir(exist_ok=True)
    (folder / "agents" / "openai.yaml").write_text(text)
    return read_interface(str(folder / "SKILL.md"))


def test_what_fits_is_told_and_the_rest_passed_over(tmp_path: Path) -> None:
    assert told(tmp_path, FULL) == {
        "interface": {
            "displayName": "My Skill",
            "shortDescription": "Short",
            "iconSmall": f"{tmp_path}/assets/small.svg",
            "iconLarge": None,
            "brandColor": "#1a2B3c",
            "defaultPrompt": "Do it",
        },
        "dependencies": {"tools": [{"type": "mcp", "value": "docs", "url": "https://x"}]},
    }


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[",
        "- a",
        "interface: 5",
        "interface: {display_name: 5}",
        "interface: {brand_color: red}",
        "interface: {icon_small: /etc/passwd}",
        "dependencies: {tools: 5}",
        "dependencies: {tools: []}",
        f"interface: {{display_name: {'x' * 100}}}",
        "#" * 100_000,
    ],
)
def test_what_says_nothing_of_use_adds_nothing(tmp_path: Path, text: str) -> None:
    assert told(tmp_path, text) == {}


def test_most_skills_have_no_such_file(tmp_path: Path) -> None:
    assert read_interface(str(tmp_path / "SKILL.md")) == {}
