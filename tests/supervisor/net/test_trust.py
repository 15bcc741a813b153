"""A file of roots is used, or said to be useless."""

from pathlib import Path

import pytest

from pycodex.supervisor.net.trust import BadCertificates, tls_context


def test_context_verifies() -> None:
    import ssl

    context = tls_context({})
    assert context.check_hostname
    assert context.verify_mode == ssl.CERT_REQUIRED


@pytest.mark.parametrize("variable", ["CODEX_CA_CERTIFICATE", "SSL_CERT_FILE"])
def test_file_without_certificates_is_refused(variable: str, tmp_path: Path) -> None:
    path = tmp_path / "roots.pem"
    path.write_text("not a certificate")
    with pytest.raises(BadCertificates, match=f"{variable} names {path}, which is no file of PEM certificates"):
        tls_context({variable: str(path)})


def test_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadCertificates, match="cannot be read: No such file"):
        tls_context({"CODEX_CA_CERTIFICATE": str(tmp_path / "none.pem")})


def test_our_own_variable_comes_first(tmp_path: Path) -> None:
    with pytest.raises(BadCertificates, match="CODEX_CA_CERTIFICATE"):
        tls_context({"CODEX_CA_CERTIFICATE": str(tmp_path / "none.pem"), "SSL_CERT_FILE": "/also/none"})


def test_empty_variables_are_none() -> None:
    tls_context({"CODEX_CA_CERTIFICATE": "", "SSL_CERT_FILE": ""})
