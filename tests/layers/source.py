"""Just enough C++ to judge a file: comments, literals, includes, lengths of functions."""

import re
from dataclasses import dataclass

_TOKEN = re.compile(
    r'//[^\n]*'
    r'|/\*.*?\*/'
    r'|R"(?P<delimiter>[^\s()\\]{0,16})\(.*?\)(?P=delimiter)"'
    r'|"(?:\\.|[^"\\\n])*"'
    r"|(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+'",
    re.DOTALL)
_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', re.MULTILINE)
_DIRECTIVE = re.compile(r'^[ \t]*#(?:[^\n\\]|\\.)*', re.MULTILINE | re.DOTALL)
_LABELS = re.compile(r'(?:\s|\b(?:public|private|protected)\s*:)*')
_SCOPE = re.compile(r'\b(namespace|class|struct|union|enum|extern)\b')


def _blank(text):
    return re.sub(r'[^\n]', ' ', text)


def without_comments(text):
    """The text with comments blanked; lines and columns stay where they were."""
    return _TOKEN.sub(lambda m: _blank(m[0]) if m[0].startswith('/') else m[0], text)


def without_literals(text):
    """The text with the insides of string literals blanked, comments kept."""
    return _TOKEN.sub(lambda m: m[0] if m[0].startswith('/') else _hollow(m[0]), text)


def _hollow(token):
    return token[0] + _blank(token[1:-1]) + token[-1]


def code_only(text):
    """The text with comments and the insides of literals blanked."""
    return _TOKEN.sub(lambda m: (_blank if m[0].startswith('/') else _hollow)(m[0]), text)


@dataclass(frozen=True)
class Include:
    line: int
    path: str
    quoted: bool


def includes(text):
    plain = without_comments(text)
    return [Include(plain.count('\n', 0, m.start()) + 1, m[2], m[1] == '"')
            for m in _INCLUDE.finditer(plain)]


@dataclass(frozen=True)
class Function:
    line: int
    name: str
    lines: int


def functions(text):
    """Every function body that is not inside another, by counting braces."""
    code = _DIRECTIVE.sub(lambda m: _blank(m[0]), code_only(text))
    found = []
    stack = []      # of (kind, where its statement began, its statement)
    begin = 0       # of the statement being read
    for at, character in enumerate(code):
        if character == ';' and not _in_parentheses(code, begin, at):
            begin = at + 1
        elif character == '{':
            statement = code[begin:at]
            kind = _kind(statement, stack)
            stack.append((kind, begin, statement))
            if kind != 'data':
                begin = at + 1
        elif character == '}' and stack:
            kind, begun, statement = stack.pop()
            if kind == 'data':
                begin = begun
                continue
            if kind == 'function':
                first = begun + _LABELS.match(statement).end()
                line = code.count('\n', 0, first) + 1
                last = code.count('\n', 0, at) + 1
                found.append(Function(line, _name(statement), last - line + 1))
            begin = at + 1
    return found


def _in_parentheses(code, begin, at):
    part = code[begin:at]
    return part.count('(') > part.count(')')


def _kind(statement, stack):
    """What a brace opens: a scope to look into, a function, or data and inner blocks."""
    if any(kind != 'scope' for kind, _, _ in stack):
        return 'data' if stack[-1][0] == 'data' else 'inner'
    bare = statement.strip()
    if bare.endswith('=') or bare.endswith(','):
        return 'data'
    if '(' not in bare:
        return 'scope' if _SCOPE.search(bare) else 'data'
    if _in_parentheses(bare, 0, len(bare)):
        return 'data'   # a braced argument or default
    head = bare.split('(', 1)[0]
    if _SCOPE.search(head) and 'operator' not in head and not re.search(r'\)\s*\w*$', bare):
        return 'scope'  # class [[nodiscard("...")]] X
    # In a constructor's initializer list a name comes right before the brace.
    if re.search(r'\)\s*(noexcept\s*)?:[^:]', bare) and re.search(r'[\w>]$', bare):
        return 'data'
    if re.search(r'\boperator\b', bare) or not re.search(r'=[^=]*$', bare.split(')')[-1]):
        return 'function'
    return 'data'


def _name(statement):
    match = re.search(r'(operator\s*[^\s\w(]+|[\w:~]+)\s*\(', statement)
    return match[1] if match else 'function'
