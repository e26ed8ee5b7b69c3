"""The certificate by which a server proves who it is."""

from __future__ import annotations

import contextlib
import ssl
from dataclasses import dataclass
from pathlib import Path

from dpsql.errors import OperationalError


@dataclass(frozen=True, slots=True)
class Certificate:
    """The server's certificate and key, as files in PEM."""

    certificate: Path
    key: Path

    def context(self) -> ssl.SSLContext:
        """Raises :class:`OperationalError` where the files do not make a certificate."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.set_alpn_protocols(["postgresql"])
        try:
            # Without a password nobody is asked for one at a terminal: an encrypted key is an error.
            context.load_cert_chain(self.certificate, self.key, password=lambda: b"")
        except (OSError, ssl.SSLError) as problem:
            raise OperationalError(
                f"the certificate cannot be used: {type(problem).__name__}",
                sqlstate="58030",
                hint="give PEM files, and a key without a passphrase",
            ) from None
        return context

    @property
    def open_to_others(self) -> bool:
        """Whether other users of this machine may read the key."""
        with contextlib.suppress(OSError):
            return bool(self.key.stat().st_mode & 0o077)
        return False

    def der(self) -> bytes:
        """The first certificate of the file, for channel binding."""
        text = self.certificate.read_text()
        begin, end = "-----BEGIN CERTIFICATE-----", "-----END CERTIFICATE-----"
        return ssl.PEM_cert_to_DER_cert(text[text.index(begin) : text.index(end) + len(end)] + "\n")
