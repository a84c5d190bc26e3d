// The part that computes, in a thread of its own, so that the page stays alive. It is sent
//
//   {load: {config, tokenizer, tensors}, values}  once; values: an ArrayBuffer of all tensors' float32
//   {begin: text}                                 forgets what was written and reads this
//   {write: count}                                goes on for so many tokens, or up to one that ends a text
//   {take: token}                                 goes on with this token
//   {temperature}                                 from the next token on
//   {stop: true}
//
// and answers {ready}, {began}, {error}, {token, bytes, p} for each one written, {next} for what may follow, {done}.
let decoder, tokenizer, tokens = [], seen = 0, logits = null, temperature = 0.8, turn = 0;

// Sees the last `block` tokens. Beyond, all positions shift, and what was cached is worth nothing.
function think() {
  if (tokens.length > decoder.block) {
    seen = tokens.length - decoder.block;
    decoder.clear();
  }
  logits = decoder.step(tokens.slice(seen));
  seen = tokens.length;
}

// The ten likeliest, with their probabilities at this temperature and at 1.
function tellNext() {
  const p = probabilities(logits, 1), now = probabilities(logits, temperature);
  const order = Array.from(p.keys()).sort((a, b) => p[b] - p[a] || a - b).slice(0, 10);
  self.postMessage({ next: order.map((token) => ({ token, bytes: tokenizer.bytes(token), p: p[token], now: now[token] })) });
}

function add(token) {
  self.postMessage({ token, bytes: tokenizer.bytes(token), p: probabilities(logits, 1)[token] });
  tokens.push(token);
  think();
}

// A text begins behind a line end where nothing else is said, or behind what the vocabulary has first.
function beginning() {
  try {
    return tokenizer.encode("\n").slice(0, 1);
  } catch {
    return [0];
  }
}

const pause = () => new Promise((resume) => setTimeout(resume));

const answers = {
  load({ load, values }) {
    const weights = {};
    let at = 0;
    for (const { name, shape } of load.tensors) {
      const count = shape.reduce((a, b) => a * b, 1);
      weights[name] = new Float32Array(values, 4 * at, count);
      at += count;
    }
    tokenizer = makeTokenizer(load.tokenizer);
    decoder = makeDecoder(load.config, weights);
    self.postMessage({ ready: true });
  },
  begin({ begin }) {
    ++turn;
    logits = null;
    const encoded = [...tokenizer.prefix, ...tokenizer.encode(begin)];
    tokens = encoded.length > 0 ? encoded : beginning();
    seen = 0;
    decoder.clear();
    think();
    self.postMessage({ began: true });
    tellNext();
  },
  take({ take }) {
    ++turn;
    add(take);
    tellNext();
  },
  temperature(message) {
    temperature = message.temperature;
    if (logits) tellNext();
  },
  stop() { ++turn; },
  async write({ write }) {
    const mine = ++turn;  // Whatever comes later ends this one.
    for (let i = 0; i < write && mine === turn && logits; ++i) {
      const token = draw(probabilities(logits, temperature), Math.random());
      if (tokenizer.ends.includes(token)) break;
      add(token);
      tellNext();
      await pause();
    }
    self.postMessage({ done: mine === turn });
  },
};

self.onmessage = async ({ data }) => {
  try {
    for (const verb in answers) if (verb in data) await answers[verb](data);
  } catch (error) {
    self.postMessage({ error: error.message });
  }
};
