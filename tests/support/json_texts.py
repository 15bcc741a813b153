"""Texts that a model may write as arguments: JSON of any shape, JSON with the names that a tool knows, and no JSON."""

import json
from typing import Any

from hypothesis import strategies as st

_SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text()
ANY_JSON: st.SearchStrategy[Any] = st.recursive(
    _SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4)
)


def arguments_naming(*names: str) -> st.SearchStrategy[str]:
    """Texts of arguments, most of them with some of these names in them, at any depth."""
    named = st.recursive(
        ANY_JSON,
        lambda inner: st.dictionaries(st.sampled_from(names), inner) | st.lists(inner, max_size=3),
        max_leaves=12,
    )
    return st.text() | named.map(json.dumps)
