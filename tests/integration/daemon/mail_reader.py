"""A mail server of other people's making: takes mails over STARTTLS and AUTH, reads them with
Python's own parser and writes what it has understood, one JSON object a line.

  mail_reader.py CERTIFICATE KEY USER PASSWORD OUTPUT     prints its port once it listens
"""

import asyncio
import email
import email.policy
import json
import ssl
import sys

from aiosmtpd.smtp import SMTP, AuthResult


def text_of(message, kind):
    part = message.get_body(preferencelist=(kind,))
    return None if part is None else part.get_content()


class Reader:
    def __init__(self, path):
        self.path = path
        self.count = 0

    async def handle_DATA(self, server, session, envelope):
        message = email.message_from_bytes(envelope.content, policy=email.policy.default)
        self.count += 1
        seen = {
            "sender": envelope.mail_from,
            "recipients": envelope.rcpt_tos,
            "tls": session.ssl is not None,
            "authenticated": session.authenticated,
            "defects": [str(d) for part in message.walk() for d in part.defects],
            "headers": {name.lower(): str(value) for name, value in message.items()},
            "text": text_of(message, "plain"),
            "html": text_of(message, "html"),
        }
        with open(self.path, "a", encoding="utf-8") as out:
            out.write(json.dumps(seen) + "\n")
        return f"250 2.0.0 Ok: queued as AIO{self.count:06d}"


def main():
    certificate, key, user, password, path = sys.argv[1:]
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)

    def authenticate(server, session, envelope, mechanism, data):
        good = data.login == user.encode() and data.password == password.encode()
        return AuthResult(success=good, handled=good)

    reader = Reader(path)
    loop = asyncio.new_event_loop()
    server = loop.run_until_complete(loop.create_server(
        lambda: SMTP(reader, hostname="reader.example", tls_context=context, require_starttls=True,
                     auth_required=True, authenticator=authenticate, loop=loop),
        "127.0.0.1", 0))
    print(server.sockets[0].getsockname()[1], flush=True)
    loop.run_forever()


main()
