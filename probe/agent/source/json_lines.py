# The standard library's JSON decoder is not used: it is written in Python and imports other modules.

_ESCAPED = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_WORDS = (("true", True), ("false", False), ("null", None))


def _encoded(value):
    """Returns a value as ASCII JSON without blanks."""
    c = _library("_json")
    return "".join(c.make_encoder(None, _not_json, c.encode_basestring_ascii, None, ":", ",", False, False, False)(value, 0))


def _not_json(value):
    raise TypeError("%s is not JSON" % type(value).__name__)


def _decoded(text):
    """Returns the value of a JSON text. Raises ValueError."""
    value, at = _parse(text, _blank(text, 0))
    if _blank(text, at) < len(text):
        raise ValueError("more than one value in JSON")
    return value


def _blank(text, at):
    while text[at : at + 1] in (" ", "\t", "\n", "\r"):
        at += 1
    return at


def _parse(text, at):
    """(value, where it ends) of the JSON at an offset."""
    first = text[at : at + 1]
    if first == '"':
        return _parse_string(text, at + 1)
    if first in ("{", "["):
        values, end = ({}, "}") if first == "{" else ([], "]")
        at = _blank(text, at + 1)
        if text[at : at + 1] == end:
            return values, at + 1
        while True:
            if first == "{":
                if text[at : at + 1] != '"':
                    raise ValueError("no name in JSON at %d" % at)
                name, at = _parse_string(text, at + 1)
                at = _blank(text, at)
                if text[at : at + 1] != ":":
                    raise ValueError("no colon in JSON at %d" % at)
                values[name], at = _parse(text, _blank(text, at + 1))
            else:
                value, at = _parse(text, at)
                values.append(value)
            at = _blank(text, at)
            if text[at : at + 1] == end:
                return values, at + 1
            if text[at : at + 1] != ",":
                raise ValueError("no comma in JSON at %d" % at)
            at = _blank(text, at + 1)
    for word, value in _WORDS:
        if text.startswith(word, at):
            return value, at + len(word)
    return _parse_number(text, at)


def _parse_string(text, at):
    pieces, end = [], -1
    while True:
        if end < at:
            end = text.find('"', at)
            if end < 0:
                raise ValueError("a string in JSON does not end")
        escape = text.find("\\", at, end)
        piece = text[at : end if escape < 0 else escape]
        if not piece.isprintable() and min(piece) < " ":
            raise ValueError("a control character in JSON after %d" % at)
        pieces.append(piece)
        if escape < 0:
            return "".join(pieces), end + 1
        character, at = _parse_escape(text, escape + 1)
        pieces.append(character)


def _parse_escape(text, at):
    if text[at : at + 1] != "u":
        try:
            return _ESCAPED[text[at : at + 1]], at + 1
        except KeyError:
            raise ValueError("an unknown escape in JSON at %d" % at)
    code = _parse_code(text, at)
    if 0xD800 <= code < 0xDC00 and text.startswith("\\u", at + 5):
        low = _parse_code(text, at + 6)
        if 0xDC00 <= low < 0xE000:
            return chr(0x10000 + (code - 0xD800 << 10) + (low - 0xDC00)), at + 11
    return chr(code), at + 5


def _parse_code(text, at):
    digits = text[at + 1 : at + 5]
    if len(digits) != 4 or not all(digit in "0123456789abcdefABCDEF" for digit in digits):
        raise ValueError("no code in JSON at %d" % at)
    return int(digits, 16)


def _parse_number(text, at):
    end = at
    while text[end : end + 1] and text[end] in "-+.0123456789eE":
        end += 1
    number = text[at:end]
    mantissa, exponential, exponent = number.lower().partition("e")
    whole, point, fraction = mantissa[mantissa.startswith("-") :].partition(".")
    exponent = exponent[exponent.startswith(("-", "+")) :]
    if not whole.isdigit() or (whole[0] == "0" and len(whole) > 1) or (point and not fraction.isdigit()) or (exponential and not exponent.isdigit()):
        raise ValueError("no value in JSON at %d" % at)
    if point or exponential:
        return float(number) if len(number) <= 64 else 0.5, end  # no field accepts a fraction
    # int() of a quarter of a million digits would hold the GIL for a second.
    return int(number) if len(number) <= 20 and number != "-0" else float("inf"), end
