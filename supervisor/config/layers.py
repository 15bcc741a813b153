"""Which files make up the configuration, lowest first, and that they say something sensible.

Owns the order of the layers, the rule that a project's own files count only where they are trusted, and the moment at
which types are checked. Takes the environment, `-c` and the working directory; gives checked settings.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from pycodex.supervisor.config import early, trust
from pycodex.supervisor.config.early import FLAGS_LAYER, SYSTEM_DIR, BadConfig, Settings
from pycodex.supervisor.config.kinds import Kind, Where, first_mismatch
from pycodex.supervisor.config.requirements import Requirements, read_requirements
from pycodex.supervisor.config.schema import PROJECT_ROOT_MARKERS, PROJECTS, ROOT

PROJECT_FILE = "project config file"


class Layered(NamedTuple):
    """The merged and checked settings, and what was found out on the way."""

    settings: Settings
    demanded: Requirements
    markers: tuple[str, ...]
    project_root: str | None
    trust_level: str | None
    ignored: tuple[str, ...]
    """Files of the project that do not count because it is not trusted."""


def load_layers(*, env: Mapping[str, str], overrides: Sequence[str], cwd: str, system_dir: str = SYSTEM_DIR) -> Layered:
    flags = early.flags_layer(overrides, env, cwd=cwd)
    home = early.codex_home(env)
    managed = early.file_layer(os.path.join(system_dir, "managed_config.toml"), env)
    demanded = read_requirements(system_dir, managed)
    base = early.base_layers(home, env, system_dir=system_dir)
    so_far = Settings(home, (*base, flags))
    markers = _markers(so_far)
    root = trust.project_root(cwd, markers)
    _check_early(so_far, "projects", PROJECTS)
    trusted = trust.Trust(so_far.values.get("projects", {}), cwd, root=root or cwd)
    believed, ignored = [], []
    for folder, is_trusted in project_folders(trusted, home, cwd=cwd, root=root or cwd):
        path = os.path.join(folder, "config.toml")
        if not is_trusted:
            ignored.append(path)
        elif (layer := early.file_layer(path, env, PROJECT_FILE)) is not None:
            believed.append(layer)
    settings = Settings(home, (*base, *believed, flags, *([managed] if managed else ())))
    check(settings)
    return Layered(
        settings=settings,
        demanded=demanded,
        markers=markers,
        project_root=root,
        trust_level=trust.Trust(settings.values.get("projects", {}), cwd, root=root or cwd).level,
        ignored=tuple(path for path in ignored if os.path.exists(path)),
    )


def check(settings: Settings) -> None:
    """Every known key must be of its kind, whether anything uses it or not."""
    found = first_mismatch(ROOT, settings.values)
    if found is not None:
        raise settings.invalid(found.keys, found.message, place=found.place, in_file=found.in_file)


def _markers(settings: Settings) -> tuple[str, ...]:
    """What marks a project's root. The project itself has no say in this."""
    key = "project_root_markers"
    _check_early(settings, key, PROJECT_ROOT_MARKERS, in_flags="project_root_markers must be an array of strings")
    markers = settings.values.get(key)
    return trust.DEFAULT_MARKERS if markers is None else tuple(markers)


def _check_early(settings: Settings, key: str, kind: Kind, *, in_flags: str = "") -> None:
    """Some keys are needed before all layers are known, and are complained about like a syntax error."""
    if key not in settings.values:
        return
    found = first_mismatch(kind, settings.values[key], Where().at(key))
    if found is None:
        return
    layer = settings.setter(found.keys)
    if layer is None or layer.path == FLAGS_LAYER:
        raise BadConfig(in_flags) if in_flags else settings.invalid(found.keys, found.message)
    from pycodex.supervisor.config.toml_errors import value_error

    raise value_error(layer, found.keys, found.in_file or found.message)


def project_folders(trusted: trust.Trust, home: str, *, cwd: str, root: str) -> Iterator[tuple[str, bool]]:
    """The `.codex` from the project's root down to the working directory, and which are trusted."""
    directories = []
    for directory in trust.ancestors(cwd):
        directories.append(directory)
        if directory == root:
            break
    for directory in reversed(directories):
        folder = os.path.join(directory, ".codex")
        if os.path.realpath(folder) != home:
            yield folder, trusted.of_layer(directory) == trust.TRUSTED
