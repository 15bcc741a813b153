"""Configuration for commands that must start fast: the home, config.toml and `-c`, without schema or pydantic.

Owns where CODEX_HOME is, how `-c key=value` is read and how layers are merged; checks only the types of keys that
are asked for. Takes the environment and the overrides, gives one table. `tomllib` is loaded only when there is TOML
to parse.
"""

import os
from errno import EFBIG, EINVAL, EISDIR
from stat import S_ISDIR, S_ISREG

from pycodex.protocol.errors import UserFacing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

SYSTEM_DIR = "/etc/codex"
FLAGS_LAYER = "-c"
CONFIG_FILE = "config file"

_PROFILE_PATHS = (
    "experimental_compact_prompt_file",
    "experimental_instructions_file",
    "js_repl_node_module_dirs",
    "js_repl_node_path",
    "model_catalog_json",
    "model_instructions_file",
    "zsh_path",
)
# The keys that hold one path or a list of them; `*` is any key of a table and any item of a list.
_PATHS: "tuple[tuple[str, ...], ...]" = (
    *((key,) for key in ("log_dir", "sqlite_home", *_PROFILE_PATHS)),
    *(("profiles", "*", key) for key in _PROFILE_PATHS),
    ("sandbox_workspace_write", "writable_roots"),
    ("agents", "*", "config_file"),
    ("skills", "config", "*", "path"),
    *(
        ("otel", exporter, "*", "tls", key)
        for exporter in ("exporter", "trace_exporter", "metrics_exporter")
        for key in ("ca-certificate", "client-certificate", "client-private-key")
    ),
)
_BARE = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./:~@%+-")
_BARE_STARTS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_./:~@%")
_MOST_CONFIG_BYTES = 4 << 20
_TOML_WORDS = ("true", "false", "inf", "nan")
_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t", "\0": "\\0"}


class BadHome(UserFacing):
    """CODEX_HOME names something that cannot be a home."""


class BadOverride(UserFacing):
    """A `-c` that is not `key=value`."""


class BadConfig(UserFacing):
    """A layer that cannot be read, parsed or understood.

    `message` is the bare reason; `place` is the dotted key it is about; `location` is `path:line:column` where the
    layer is a file; `frame` shows the line.
    """

    def __init__(
        self, message: str, *, place: str = "", location: str = "", frame: str = "", cause: str = "", in_file: str = ""
    ) -> None:
        """`in_file` is the reason as the text of a file shows it, where that differs."""
        bare = f"{message}\nin `{place}`\n" if place else message
        text = f"{location}: {in_file or message}" if location else bare
        cause = cause or (bare if location and place else "")
        super().__init__(f"{text}\n\nCaused by:\n{_indented(cause)}" if cause else text)
        self.message = message
        self.place = place
        self.location = location
        self.frame = frame


def _indented(text: str) -> str:
    return "\n".join(f"    {line}" for line in text.splitlines())


def codex_home(env: "Mapping[str, str]") -> str:
    """The canonical CODEX_HOME. An explicit one must exist; the default may still be missing."""
    given = env.get("CODEX_HOME", "")
    if not given:
        return os.path.realpath(os.path.join(_user_home(env), ".codex"))
    if os.path.isdir(given):
        return os.path.realpath(given)
    problem = "is not a directory" if os.path.exists(given) else "does not exist"
    raise BadHome(f'CODEX_HOME points to "{given}", but that path {problem}')


def _user_home(env: "Mapping[str, str]") -> str:
    home = env.get("HOME", "")
    if home:
        return home
    import pwd

    try:
        return pwd.getpwuid(os.getuid()).pw_dir
    except KeyError:
        raise BadHome("Could not find home directory: set HOME or CODEX_HOME") from None


# -c key=value


def parse_override(text: str) -> "tuple[tuple[str, ...], Any]":
    """The key's parts and the value of one `-c`."""
    key, equals, raw = text.partition("=")
    if not equals:
        raise BadOverride(f"Invalid override (missing '='): {text}")
    key = key.strip()
    if not key:
        raise BadOverride(f"Empty key in override: {text}")
    if key == "use_legacy_landlock":
        key = "features.use_legacy_landlock"
    return tuple(key.split(".")), override_value(raw.strip())


def override_value(raw: str) -> "Any":
    """TOML if it parses, else the text without the quotes around it."""
    plain = _without_parser(raw)
    if plain is not None:
        return plain
    import tomllib

    try:
        value = tomllib.loads(f"_x_ = {raw}")["_x_"]
    except (ValueError, RecursionError):
        return raw.strip("\"'")
    # The reference's integers have 64 bits; a longer one is no TOML there and stays text.
    return raw.strip("\"'") if _too_big(value) else value


def _without_parser(raw: str) -> "Any":
    """The value where TOML can have only one answer; None if the parser must decide.

    No TOML value starts with one of `_BARE_STARTS` but the four words, and without blanks, quotes, comments or line
    ends there is nothing that could follow one.
    """
    if not raw:
        return ""
    if raw in ("true", "false"):
        return raw == "true"
    if raw.isdecimal() and raw.isascii() and len(raw) < 19 and (raw[0] != "0" or raw == "0"):
        return int(raw)
    if raw[0] in _BARE_STARTS and raw not in _TOML_WORDS and _BARE.issuperset(raw):
        return raw
    return None


def _too_big(value: object) -> bool:
    if isinstance(value, dict):
        return any(_too_big(item) for item in value.values())
    if isinstance(value, list):
        return any(_too_big(item) for item in value)
    return type(value) is int and not -(1 << 63) <= value < 1 << 63


def _put(table: "dict[str, Any]", keys: "Sequence[str]", value: object) -> None:
    for key in keys[:-1]:
        inner = table.get(key)
        if not isinstance(inner, dict):
            inner = table[key] = {}
        table = inner
    table[keys[-1]] = value


# Layers


class Layer:
    """One source of settings: a file with its text, or the command line (`path` is then `-c`)."""

    def __init__(self, path: str, values: "dict[str, Any]", text: str = "") -> None:
        self.path = path
        self.values = values
        self.text = text

    def holds(self, keys: "Sequence[str | int]") -> bool:
        values: Any = self.values
        for key in keys:
            if isinstance(key, int):
                if not isinstance(values, list) or key >= len(values):
                    return False
            elif not isinstance(values, dict) or key not in values:
                return False
            values = values[key]
        return True


class Settings:
    """The merged table, and the layers it came from, lowest first."""

    def __init__(self, codex_home: str, layers: "Iterable[Layer]") -> None:
        self.codex_home = codex_home
        self.layers = tuple(layers)
        self.values: "dict[str, Any]" = {}
        for layer in self.layers:
            _merge(self.values, layer.values)

    def get(self, *keys: str) -> "Any":
        """The value at a dotted place, or None. A non-table on the way is an error in the reference's words."""
        value: Any = self.values
        for depth, key in enumerate(keys):
            if not isinstance(value, dict):
                raise self.wrong_type(keys[:depth], value, "a map")
            value = value.get(key)
            if value is None:
                return None
        return value

    def boolean(self, *keys: str) -> bool:
        value = self.get(*keys)
        if value is not None and type(value) is not bool:
            raise self.wrong_type(keys, value, "a boolean")
        return bool(value)

    def count(self, *keys: str) -> "int | None":
        value = self.get(*keys)
        if value is not None and type(value) is not int:
            raise self.wrong_type(keys, value, "a number")
        if value is not None and value < 1:
            raise self.invalid(keys, f"invalid value: integer `{value}`, expected a number above zero")
        return value

    def paths(self, *keys: str) -> "tuple[str, ...]":
        value = self.get(*keys)
        if value is None:
            return ()
        if not isinstance(value, list):
            raise self.wrong_type(keys, value, "a sequence")
        for item in value:
            if type(item) is not str:
                raise self.wrong_type(keys, item, "path string")
        return tuple(value)

    def wrong_type(self, keys: "Sequence[str]", value: object, expected: str) -> BadConfig:
        return self.invalid(keys, f"invalid type: {described(value)}, expected {expected}")

    def invalid(
        self, keys: "Sequence[str | int]", message: str, *, place: "Sequence[str] | None" = None, in_file: str = ""
    ) -> BadConfig:
        """An error about a value, with the place in the file that set it. `place` is its name, if not `keys`."""
        named = ".".join(key for key in (keys if place is None else place) if isinstance(key, str))
        layer = self.setter(keys)
        if layer is None or layer.path == FLAGS_LAYER:
            return BadConfig(message, place=named)
        from pycodex.supervisor.config.toml_errors import value_position

        line, column = value_position(layer.text, keys)
        return BadConfig(message, place=named, location=f"{layer.path}:{line}:{column}", in_file=in_file)

    def setter(self, keys: "Sequence[str | int]") -> "Layer | None":
        """The highest layer that says something at a place."""
        for layer in reversed(self.layers):
            if layer.holds(keys):
                return layer
        return None


def described(value: object) -> str:
    """What a value is, in the words of the reference's messages."""
    if type(value) is bool:
        return f"boolean `{'true' if value else 'false'}`"
    if type(value) is int:
        return f"integer `{value}`"
    if type(value) is float:
        return f"floating point `{_plain_float(value)}`"
    if type(value) is str:
        return f"string {quoted(value)}"
    return "sequence" if isinstance(value, list) else "map"


def quoted(text: str) -> str:
    return '"' + "".join(_ESCAPES.get(c) or (c if c.isprintable() else f"\\u{{{ord(c):x}}}") for c in text) + '"'


def _plain_float(value: float) -> str:
    text = repr(value)
    if text == "nan":
        return "NaN"
    if "e" not in text:
        return text
    from decimal import Decimal

    text = format(Decimal(text), "f")
    return text if "." in text else f"{text}.0"


def _merge(into: "dict[str, Any]", layer: "Mapping[str, Any]") -> None:
    for key, value in layer.items():
        held = into.get(key)
        if isinstance(held, dict) and isinstance(value, dict):
            _merge(held, value)
        else:
            into[key] = _copied(value)


def _copied(value: "Any") -> "Any":
    return {key: _copied(item) for key, item in value.items()} if isinstance(value, dict) else value


def file_bytes(path: str) -> bytes:
    """The whole of a regular file of a sensible size; a pipe in its place must not hold us up."""
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        status = os.fstat(fd)
        if S_ISDIR(status.st_mode):
            raise OSError(EISDIR, "Is a directory")
        if not S_ISREG(status.st_mode):
            raise OSError(EINVAL, "not a regular file")
        if status.st_size > _MOST_CONFIG_BYTES:
            raise OSError(EFBIG, f"larger than {_MOST_CONFIG_BYTES} bytes")
        data = b""
        while len(data) <= _MOST_CONFIG_BYTES and (part := os.read(fd, _MOST_CONFIG_BYTES)):
            data += part
        return data
    finally:
        os.close(fd)


def read_layer(path: str, kind: str = CONFIG_FILE) -> "Layer | None":
    """The layer in one file; None if there is no such file. `kind` is what messages call it."""
    try:
        data = file_bytes(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise BadConfig(f"Failed to read {kind} {path}: {error.strerror} (os error {error.errno})") from None
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        raise BadConfig(f"Failed to read {kind} {path}: stream did not contain valid UTF-8") from None
    if not text.strip():
        return Layer(path, {}, text)
    import tomllib

    try:
        return Layer(path, tomllib.loads(text), text)
    except tomllib.TOMLDecodeError as error:
        from pycodex.supervisor.config.toml_errors import syntax_error

        raise syntax_error(path, text, str(error), kind=kind) from None
    except RecursionError:
        raise BadConfig(f"Failed to read {kind} {path}: nested too deeply") from None


def file_layer(path: str, env: "Mapping[str, str]", kind: str = CONFIG_FILE) -> "Layer | None":
    """The layer in one file, its relative paths made absolute."""
    layer = read_layer(path, kind)
    if layer is not None:
        anchor_paths(layer.values, os.path.dirname(path), env)
    return layer


def flags_layer(overrides: "Iterable[str]", env: "Mapping[str, str]", *, cwd: str) -> Layer:
    """All `-c` in one layer; the later wins."""
    flags: "dict[str, Any]" = {}
    for text in overrides:
        keys, value = parse_override(text)
        _put(flags, keys, value)
    anchor_paths(flags, cwd, env)
    return Layer(FLAGS_LAYER, flags)


def base_layers(home: str, env: "Mapping[str, str]", *, system_dir: str = SYSTEM_DIR) -> "list[Layer]":
    """The system's file and the user's."""
    paths = (os.path.join(system_dir, "config.toml"), os.path.join(home, "config.toml"))
    return [layer for path in paths if (layer := file_layer(path, env)) is not None]


def load(env: "Mapping[str, str]", overrides: "Iterable[str]", *, cwd: str) -> Settings:
    """System file, user file and `-c`, merged in this order."""
    flags = flags_layer(overrides, env, cwd=cwd)
    home = codex_home(env)
    return Settings(home, (*base_layers(home, env), flags))


def anchor_paths(values: "dict[str, Any]", base: str, env: "Mapping[str, str]") -> None:
    """Relative paths mean the directory of the file that holds them (of a flag: the current one)."""
    for keys in _PATHS:
        if keys[0] in values:
            _anchor_at(values, keys, base, env)


def _anchor_at(holder: "Any", keys: "Sequence[str]", base: str, env: "Mapping[str, str]") -> None:
    for key in _matching(holder, keys[0]):
        value = holder[key]
        if len(keys) > 1:
            _anchor_at(value, keys[1:], base, env)
        elif type(value) is str:
            holder[key] = anchored(value, base, env)
        elif isinstance(value, list):
            holder[key] = [anchored(path, base, env) if type(path) is str else path for path in value]


def _matching(holder: "Any", key: str) -> "Iterable[Any]":
    if isinstance(holder, dict):
        return list(holder) if key == "*" else [key] if key in holder else ()
    return range(len(holder)) if isinstance(holder, list) and key == "*" else ()


def anchored(path: str, base: str, env: "Mapping[str, str]") -> str:
    """An absolute path, `~` meaning the user's home."""
    if path == "~" or path.startswith("~/"):
        path = os.path.join(_user_home(env), path[2:])
    return os.path.normpath(os.path.join(base, path))
