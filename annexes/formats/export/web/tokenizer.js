// Text to token numbers and back: by characters, by bytes, or by GPT-2's pairs of bytes.
//
// `described` is what the page was written with: {kind: "char", characters}, {kind: "byte"}, or {kind: "bpe", tokens,
// merges}, tokens and merges in GPT-2's letters; and for each kind prefix and ends, the numbers of the tokens that
// precede and end a text, and specials, the names of special tokens, which follow characters and bytes.
function makeTokenizer(described) {
  const utf8 = new TextEncoder();
  const makers = { char: characters, byte: bytes, bpe: pairs };
  return { ...makers[described.kind](), prefix: described.prefix, ends: described.ends };

  // A tokenizer is {encode(text) -> numbers, bytes(token) -> Uint8Array, prefix, ends}. encode() throws Error for a text that the
  // vocabulary cannot spell.

  function characters() {
    const all = Array.from(described.characters);
    const numbers = new Map(all.map((character, number) => [character, number]));
    return {
      bytes: (token) => utf8.encode(all[token] ?? described.specials[token - all.length]),
      encode: (text) => Array.from(text, (character) => {
        if (!numbers.has(character)) throw new Error(`this model has never seen the character ${JSON.stringify(character)}`);
        return numbers.get(character);
      }),
    };
  }

  function bytes() {
    const bytesOf = (token) => token < 256 ? Uint8Array.of(token) : utf8.encode(described.specials[token - 256]);
    return { bytes: bytesOf, encode: (text) => Array.from(utf8.encode(text)) };
  }

  function pairs() {
    // GPT-2's letters: bytes that print in Latin-1 stand for themselves, the others for U+0100 and up.
    const letters = [], byteOf = new Map();
    for (let byte = 0, next = 0x100; byte < 256; ++byte) {
      const prints = (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
      letters.push(String.fromCharCode(prints ? byte : next++));
      byteOf.set(letters[byte], byte);
    }
    const specials = new Set(described.specials);
    const numbers = new Map(described.tokens.map((token, number) => [token, number]));
    const ranks = new Map(described.merges.map((merge, rank) => [merge, rank]));
    const known = new Map();  // words that were merged before

    // GPT-2's words (Radford et al., 2019), with Unicode's white space, not JavaScript's.
    const words = /'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\p{White_Space}\p{L}\p{N}]+|\p{White_Space}+(?!\P{White_Space})|\p{White_Space}+/gu;

    function merged(word) {
      let parts = Array.from(utf8.encode(word), (byte) => letters[byte]);
      for (;;) {
        let best = Infinity, pair = "";
        for (let i = 0; i + 1 < parts.length; ++i) {
          const rank = ranks.get(parts[i] + " " + parts[i + 1]);
          if (rank < best) [best, pair] = [rank, parts[i] + " " + parts[i + 1]];
        }
        if (best === Infinity) return parts.map((part) => numbers.get(part));
        const joined = [];
        for (let i = 0; i < parts.length; ++i) {
          const here = i + 1 < parts.length && parts[i] + " " + parts[i + 1] === pair;
          joined.push(here ? parts[i] + parts[++i] : parts[i]);
        }
        parts = joined;
      }
    }

    return {
      bytes: (number) => {
        const token = described.tokens[number];
        return specials.has(token) ? utf8.encode(token) : Uint8Array.from(token, (letter) => byteOf.get(letter));
      },
      encode: (text) => (text.match(words) ?? []).flatMap((word) => {
        if (!known.has(word)) known.set(word, merged(word));
        return known.get(word);
      }),
    };
  }
}
