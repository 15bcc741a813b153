"""The version, as a constant: reading package metadata would cost more than everything else `--version` does."""

VERSION = "0.1.0"
