"""Whose certificates we believe.

Owns the TLS context: the system's roots, and those of the file that CODEX_CA_CERTIFICATE or SSL_CERT_FILE names.
Takes the environment; a file that cannot be used is an error, never a silent loss of trust.
"""

import ssl
from collections.abc import Mapping

from pycodex.protocol.errors import UserFacing

_VARIABLES = ("CODEX_CA_CERTIFICATE", "SSL_CERT_FILE")


class BadCertificates(UserFacing):
    """The file of additional roots cannot be used."""


def tls_context(env: Mapping[str, str]) -> ssl.SSLContext:
    """A context that verifies; costs tens of milliseconds, so make one and only when it is needed."""
    context = ssl.create_default_context()
    if not context.cert_store_stats()["x509_ca"] and not ssl.get_default_verify_paths().capath:
        # A system without roots of its own.
        import httpcore

        context = httpcore.default_ssl_context()
    for variable in _VARIABLES:
        path = env.get(variable, "")
        if path:
            _add_roots(context, variable, path)
            break
    return context


def _add_roots(context: ssl.SSLContext, variable: str, path: str) -> None:
    try:
        context.load_verify_locations(cafile=path)
    except ssl.SSLError as error:
        reason = error.reason or "no certificate in it"
        raise BadCertificates(f"{variable} names {path}, which is no file of PEM certificates: {reason}") from None
    except OSError as error:
        raise BadCertificates(f"{variable} names {path}, which cannot be read: {error.strerror}") from None
