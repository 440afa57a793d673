"""JSON that people read and merge: each value on one line where it fits."""
import json

WIDTH = 160


def text(value, indent=0, before=0):
    """`before`: characters that stand before it in its line."""
    short = json.dumps(value, ensure_ascii=False)
    if not value or not isinstance(value, (dict, list)) or (indent > 0 and indent + before + len(short) < WIDTH):
        return short
    pad = " " * (indent + 1)
    if isinstance(value, dict):
        keys = [json.dumps(key, ensure_ascii=False) + ": " for key in value]
        return "{\n%s\n%s}" % (",\n".join(pad + key + text(v, indent + 1, len(key)) for key, v in zip(keys, value.values())), " " * indent)
    if any(isinstance(v, (dict, list)) for v in value):
        return "[\n%s\n%s]" % (",\n".join(pad + text(v, indent + 1) for v in value), " " * indent)
    return "[\n%s\n%s]" % ("\n".join(wrapped(value, pad)), " " * indent)


def wrapped(values, pad):
    lines = [pad]
    for number, value in enumerate(values):
        word = json.dumps(value, ensure_ascii=False) + "," * (number < len(values) - 1)
        if number and len(lines[-1]) + 1 + len(word) >= WIDTH:
            lines.append(pad + word)
        else:
            lines[-1] += " " * (number > 0) + word
    return lines
