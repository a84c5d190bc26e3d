"""The tokenizer that lies beside this file: by characters, by bytes, or by GPT-2's pairs of bytes.

It reads vocab.json, merges.txt and text.json, and needs nothing but Python.
"""

import json
import pathlib
import unicodedata

HERE = pathlib.Path(__file__).parent
CONTRACTIONS = ("'s", "'t", "'re", "'ve", "'m", "'ll", "'d")


def kind_of(character):
    """What GPT-2's pattern tells apart: letters, numbers, white space (Unicode's) and the rest."""
    category = unicodedata.category(character)
    if category[0] in "LN":
        return category[0]
    return "Z" if category[0] == "Z" or character in "\t\n\v\f\r\x85" else "-"


def words_of(text):
    """The words of 's|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+ in turn."""
    at = 0
    while at < len(text):
        short = next((one for one in CONTRACTIONS if text.startswith(one, at)), None)
        if short:
            end = at + len(short)
        else:
            first = at + 1 if text[at] == " " and at + 1 < len(text) and kind_of(text[at + 1]) != "Z" else at
            end = first
            while end < len(text) and kind_of(text[end]) == kind_of(text[first]):
                end += 1
            if kind_of(text[first]) == "Z" and end < len(text) and end - at > 1:
                end -= 1  # the last white space goes with the word behind it
        yield text[at:end]
        at = end


class Tokenizer:
    """encode(text) gives numbers, decode(numbers) the text. A model reads the numbers `prefix` before a text; one of
    `ends` ends it."""

    def __init__(self, folder=HERE):
        vocab = json.loads((pathlib.Path(folder) / "vocab.json").read_text(encoding="utf-8"))
        self.kind = vocab["tokenizer"] if isinstance(vocab.get("tokenizer"), str) else "bpe"
        if self.kind == "char":
            self.bytes = [character.encode() for character in vocab["characters"]]
        elif self.kind == "byte":
            self.bytes = [bytes([byte]) for byte in range(256)]
        else:
            self.read_pairs(vocab, (pathlib.Path(folder) / "merges.txt").read_text(encoding="utf-8"))
        if self.kind != "bpe":
            self.bytes += [special.encode() for special in vocab.get("special", [])]
        around = json.loads((pathlib.Path(folder) / "text.json").read_text(encoding="utf-8"))
        self.prefix, self.ends = around["prefix"], around["ends"]
        self.number = {text: number for number, text in enumerate(self.bytes)}

    def read_pairs(self, vocab, merges):
        # Bytes that print in Latin-1 are letters of their own; the other 68 are U+0100 and up.
        prints = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
        others = [byte for byte in range(256) if byte not in prints]
        byte_of = {chr(byte): byte for byte in prints} | {chr(0x100 + i): byte for i, byte in enumerate(others)}

        def of_letters(letters):
            return bytes(byte_of[letter] for letter in letters)

        pairs = [tuple(map(of_letters, line.split(" "))) for line in merges.split("\n")[1:] if line]
        self.rank = {pair: rank for rank, pair in enumerate(pairs)}
        joined = {left + right for left, right in pairs}
        self.bytes = [b""] * len(vocab)
        for letters, number in vocab.items():
            spelt = of_letters(letters) if all(letter in byte_of for letter in letters) else None
            is_pair = spelt is not None and (len(spelt) == 1 or spelt in joined)
            self.bytes[number] = spelt if is_pair else letters.encode()

    def merged(self, word):
        parts = [bytes([byte]) for byte in word.encode()]
        while len(parts) > 1:
            best = min(zip(parts, parts[1:]), key=lambda pair: self.rank.get(pair, float("inf")))
            if best not in self.rank:
                break
            at, joined = 0, []
            while at < len(parts):
                here = tuple(parts[at : at + 2]) == best
                joined.append(parts[at] + parts[at + 1] if here else parts[at])
                at += 2 if here else 1
            parts = joined
        return parts

    def encode(self, text):
        if self.kind == "bpe":
            parts = [part for word in words_of(text) for part in self.merged(word)]
        else:
            parts = [c.encode() for c in text] if self.kind == "char" else [bytes([byte]) for byte in text.encode()]
        return [self.number[part] for part in parts]

    def decode(self, numbers):
        return b"".join(self.bytes[number] for number in numbers).decode(errors="replace")
