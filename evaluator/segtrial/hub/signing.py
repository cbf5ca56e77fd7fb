"""A maintainer's Ed25519 signature over ``board.json``: whose numbers these are."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

from segtrial.contracts.reading import parse_json
from segtrial.contracts.release import BoardSignature
from segtrial.errors import InputError, ResultsError, UsageError
from segtrial.hub.target import Signer


def signer_from(path: Path) -> Signer:
    """A signer from a private key in a PEM file, as ``openssl genpkey -algorithm ed25519`` writes.

    Raises
    ------
    InputError
        When the file is not such a key.
    """
    ed25519, serialization = _library()
    try:
        key = serialization.load_pem_private_key(path.read_bytes(), password=None)
    except (OSError, ValueError, TypeError) as problem:
        raise InputError(
            f"{path} is not a private key that can be used: {problem}. Make one with: "
            "openssl genpkey -algorithm ed25519 -out key.pem"
        ) from None
    if not isinstance(key, ed25519.Ed25519PrivateKey):
        raise InputError(f"{path} is a key of another kind; Ed25519 is needed.")
    public = base64.b64encode(key.public_key().public_bytes_raw()).decode()

    def sign(raw: bytes) -> bytes:
        signature = base64.b64encode(key.sign(raw)).decode()
        record = BoardSignature(public_key=public, signature=signature)
        return (record.model_dump_json(indent=1) + "\n").encode()

    return Signer(public, sign)


def check_signature(board: bytes, signature: bytes, *, public_key: str | None) -> str:
    """Check a signature file against the bytes of ``board.json``.

    Parameters
    ----------
    board, signature : bytes
        The two files.
    public_key : str or None
        The key that is trusted, in base 64; None accepts the one in the file.

    Returns
    -------
    str
        The key that signed.

    Raises
    ------
    ResultsError
        When the signature is not that key's over these bytes.
    """
    from cryptography.exceptions import InvalidSignature  # noqa: PLC0415 - an extra

    ed25519, _ = _library()
    record = parse_json(signature, BoardSignature, source="board.json.sig", error=ResultsError)
    if public_key is not None and record.public_key != public_key:
        raise ResultsError(
            f"board.json is signed with the key {record.public_key}, not with {public_key}."
        )
    try:
        key = ed25519.Ed25519PublicKey.from_public_bytes(base64.b64decode(record.public_key))
        key.verify(base64.b64decode(record.signature), board)
    except (InvalidSignature, ValueError):
        raise ResultsError(
            f"The signature in board.json.sig is not that of {record.public_key} over board.json: "
            "one of the two files was changed after signing."
        ) from None
    return record.public_key


def _library() -> tuple[Any, Any]:
    try:
        from cryptography.hazmat.primitives import serialization  # noqa: PLC0415
        from cryptography.hazmat.primitives.asymmetric import ed25519  # noqa: PLC0415
    except ImportError:
        raise UsageError(
            "Signatures need the package cryptography: pip install 'segtrial[hub]'."
        ) from None
    return ed25519, serialization
