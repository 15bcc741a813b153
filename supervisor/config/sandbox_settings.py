"""What the configuration says about sandboxing, as values that `sandbox` understands.

Owns the keys `sandbox_workspace_write.*`, `sandbox.*`, `features.use_legacy_landlock` and the choice between the
legacy modes and permission profiles. Takes merged settings, gives Permissions and Limits; looks at no file.
"""

from pycodex.protocol.confinement import Limits
from pycodex.protocol.errors import UserFacing
from pycodex.protocol.permissions import Permissions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pycodex.supervisor.config.early import Settings

READ_ONLY = Permissions(mode="read-only")

_FULL_AUTO_NEEDS_LEGACY = (
    "`pycodex sandbox --full-auto` is only supported for legacy `sandbox_mode` configs; "
    "choose a writable `[permissions]` profile instead"
)


def workspace_write(settings: "Settings") -> Permissions:
    """The workspace-write mode with what `[sandbox_workspace_write]` adds and takes away."""
    table = "sandbox_workspace_write"
    if settings.get(table) is not None and not isinstance(settings.get(table), dict):
        raise settings.wrong_type((table,), settings.get(table), "struct SandboxWorkspaceWrite")
    return Permissions(
        mode="workspace-write",
        writable_roots=settings.paths(table, "writable_roots"),
        network_access=settings.boolean(table, "network_access"),
        exclude_tmpdir_env_var=settings.boolean(table, "exclude_tmpdir_env_var"),
        exclude_slash_tmp=settings.boolean(table, "exclude_slash_tmp"),
    )


def chosen_permissions(settings: "Settings", *, profile: "str | None", full_auto: bool) -> Permissions:
    """For one command: a named profile, else the configured one, else read-only or workspace-write."""
    # The table is checked in every case: a mistake in it must not show only once the mode is changed.
    writing = workspace_write(settings)
    has_profiles = settings.get("permissions") is not None or settings.get("default_permissions") is not None
    if profile is not None or has_profiles:
        from pycodex.supervisor.config import permission_profiles

        if profile is not None:
            return permission_profiles.named(settings, profile, writing)
        if full_auto and settings.get("default_permissions") is not None:
            raise UserFacing(_FULL_AUTO_NEEDS_LEGACY)
        configured = permission_profiles.configured(settings, writing)
        if configured is not None:
            return configured
    return writing if full_auto else READ_ONLY


def limits(settings: "Settings") -> Limits:
    if settings.get("sandbox") is None:
        return Limits()
    asked = settings.get("sandbox", "limits")
    for name in asked if isinstance(asked, dict) else ():
        # Unlike other keys: whoever sets a limit relies on it.
        if name not in Limits._fields:
            raise UserFacing(f"unknown limit `sandbox.limits.{name}`; known are {', '.join(Limits._fields)}")
    return Limits(**{name: settings.count("sandbox", "limits", name) for name in Limits._fields})


def landlock_only(settings: "Settings") -> bool:
    """Whether the user accepts the weaker level on hosts without user namespaces."""
    return settings.boolean("sandbox", "landlock_only") or settings.boolean("features", "use_legacy_landlock")


def deny_read_defaults(settings: "Settings") -> bool:
    return settings.get("sandbox", "deny_read_defaults") is None or settings.boolean("sandbox", "deny_read_defaults")
