"""Reads a Web Push body (RFC 8291) with python3-cryptography: KEY AUTH BODY, all in base64url."""

import base64
import sys

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat


def octets(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def derive(salt, secret, info, length):
    return HKDF(hashes.SHA256(), length, salt, info).derive(secret)


def read(scalar, auth, body):
    curve = ec.SECP256R1()
    own = ec.derive_private_key(int.from_bytes(scalar, "big"), curve)
    own_point = own.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)
    salt, size, point = body[:16], int.from_bytes(body[16:20], "big"), body[21:21 + body[20]]
    record = body[21 + body[20]:]
    assert len(record) <= size
    common = own.exchange(ec.ECDH(), ec.EllipticCurvePublicKey.from_encoded_point(curve, point))
    secret = derive(auth, common, b"WebPush: info\0" + own_point + point, 32)
    key = derive(salt, secret, b"Content-Encoding: aes128gcm\0", 16)
    nonce = derive(salt, secret, b"Content-Encoding: nonce\0", 12)
    text = AESGCM(key).decrypt(nonce, record, None).rstrip(b"\0")
    assert text.endswith(b"\2")
    return text[:-1]


sys.stdout.buffer.write(read(*(octets(a) for a in sys.argv[1:])))
