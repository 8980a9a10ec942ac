"""Asks a running daemon everything that the document of its admin API describes, and judges each
answer by its schema.

  admin_api.py SOCKET DOCUMENT EVENT      EVENT is one that the ledger has a row of
"""

import http.client
import json
import socket
import sys

import jsonschema


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("sendonce", timeout=60)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


def ask(path, method, target):
    connection = UnixConnection(path)
    connection.request(method, target)
    answer = connection.getresponse()
    return answer.status, answer.headers.get_content_type(), answer.read().decode()


class Judge:
    def __init__(self, path, document):
        self.path = path
        self.document = document
        self.checked = 0

    def response_of(self, operation, status):
        responses = operation["responses"]
        return responses.get(str(status), responses.get("default"))

    def check(self, method, target, wanted):
        place = target.split("?")[0]
        operation = self.document["paths"][place][method.lower()]
        status, kind, body = ask(self.path, method, target)
        assert status == wanted, f"{method} {target}: {status} {body}"
        content = self.response_of(operation, status)["content"]
        assert kind in content, f"{method} {target}: {kind}"
        value = json.loads(body) if "json" in kind else body
        schema = {**content[kind]["schema"], "components": self.document["components"]}
        jsonschema.Draft202012Validator(
            schema, format_checker=jsonschema.FormatChecker()).validate(value)
        self.checked += 1
        return value

    def undescribed(self, method, target, wanted):
        status, _, _ = ask(self.path, method, target)
        assert status == wanted, f"{method} {target}: {status}"


def main():
    path, document, event = sys.argv[1:]
    with open(document, encoding="utf-8") as file:
        judge = Judge(path, json.load(file))
    for place, item in judge.document["paths"].items():
        for method in item:
            operation = item[method]
            asks_more = "x-one-of" in operation or any(
                p.get("required") for p in operation.get("parameters", []))
            judge.check(method.upper(), place, 400 if asks_more else 200)
            judge.undescribed("DELETE", place, 405)
            judge.undescribed(method.upper(), place + "/x", 404)
    found = judge.check("GET", f"/v1/inspect?event={event}", 200)
    assert found["rows"] == 1 and found["held"] == [], found
    key = found["items"][0]["key"]
    assert judge.check("GET", f"/v1/rows?key={key}", 200)["items"] == found["items"]
    first = judge.check("GET", "/v1/rows?limit=1", 200)
    assert first["rows"] == 1 and first["more"] is True, first
    for bad in ("limit=x", "state=lost", "key=00", "colour=red", "limit=1&limit=2"):
        problem = judge.check("GET", f"/v1/rows?{bad}", 400)
        assert problem["code"] == "invalid" and problem["detail"], problem
    judge.undescribed("GET", "/", 404)
    print(f"{judge.checked} answers are as described")


main()
