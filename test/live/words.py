# SPDX-License-Identifier: GPL-2.0-only
"""The answers of rnic-live and of the guest's agent, which speak the same dialect."""


def value(text):
    """Numbers as int, all else as it is."""
    try:
        return int(text, 0)
    except ValueError:
        return text


def parse(lines):
    """The lines of an answer, of a card or of a guest's agent, as a dict.

    KEY=VALUE words are entries of it. A line that begins with another word is a record: the entry
    of that word is the list of its dicts; `out` is the list of a shell's lines.
    """
    found = {}
    for line in lines:
        word, _, rest = line.partition(" ")
        if word == "out":
            found.setdefault("out", []).append(rest)
            continue
        pairs = dict(pair.partition("=")[::2] for pair in line.split() if "=" in pair)
        pairs = {key: text if key == "hex" else value(text) for key, text in pairs.items()}
        if "=" in word:
            found.update(pairs)
        else:
            found.setdefault(word, []).append(pairs)
    return found
