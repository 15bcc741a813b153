"""Permissions that are asked for, or granted, beyond those of the sandbox."""

from typing import Annotated, Literal

from pydantic import Field

from pycodex.protocol.app.wire import CLOSED, AbsolutePathBuf, Keyed, Named, Sparse, Wire


class AdditionalFileSystemPermissions(Wire):
    read: list[AbsolutePathBuf] | None = None
    write: list[AbsolutePathBuf] | None = None


class AdditionalNetworkPermissions(Wire):
    enabled: bool | None = None


class BundleIdsMacOsAutomationPermission(Keyed):
    bundle_ids: list[str] = Field(alias="bundle_ids")


MacOsAutomationPermission = Annotated[
    Literal["none", "all"] | BundleIdsMacOsAutomationPermission, Named("MacOsAutomationPermission")
]


MacOsContactsPermission = Annotated[Literal["none", "read_only", "read_write"], Named("MacOsContactsPermission")]


MacOsPreferencesPermission = Annotated[Literal["none", "read_only", "read_write"], Named("MacOsPreferencesPermission")]


class AdditionalMacOsPermissions(Wire):
    preferences: MacOsPreferencesPermission
    automations: MacOsAutomationPermission
    launch_services: bool
    accessibility: bool
    calendar: bool
    reminders: bool
    contacts: MacOsContactsPermission


class AdditionalPermissionProfile(Wire):
    network: AdditionalNetworkPermissions | None = None
    file_system: AdditionalFileSystemPermissions | None = None
    macos: AdditionalMacOsPermissions | None = None


class RequestPermissionProfile(Wire):
    model_config = CLOSED

    network: AdditionalNetworkPermissions | None = None
    file_system: AdditionalFileSystemPermissions | None = None


class GrantedPermissionProfile(Wire):
    network: Sparse[AdditionalNetworkPermissions | None] = None
    file_system: Sparse[AdditionalFileSystemPermissions | None] = None
