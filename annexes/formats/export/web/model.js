// The decoder, of GPT-2's shape or Llama's, in plain loops: rows of float32, sums in float64.
//
// `config` is a config.json of Hugging Face's, `weights` an object of Float32Arrays by Hugging Face's names, matrices
// as (out, in). Letters: T rows of C features; hs features of a head.
function makeDecoder(config, weights) {
  const gpt2 = config.model_type === "gpt2";
  const C = gpt2 ? config.n_embd : config.hidden_size;
  const layers = gpt2 ? config.n_layer : config.num_hidden_layers;
  const heads = gpt2 ? config.n_head : config.num_attention_heads;
  const kvHeads = gpt2 ? heads : config.num_key_value_heads;
  const block = gpt2 ? config.n_positions : config.max_position_embeddings;
  const eps = gpt2 ? config.layer_norm_epsilon : config.rms_norm_eps;
  const inner = gpt2 ? 4 * C : config.intermediate_size;
  const V = config.vocab_size, hs = C / heads, kvC = kvHeads * hs;
  const keys = [], values = [];  // of each layer: (block, kvC)
  for (let i = 0; i < layers; ++i) {
    keys.push(new Float32Array(block * kvC));
    values.push(new Float32Array(block * kvC));
  }
  let length = 0;  // positions in the cache
  const frequencies = Array.from({ length: gpt2 ? 0 : hs / 2 }, (_, i) => config.rope_theta ** (-2 * i / hs));

  // x: (T, n) -> (T, out), by a matrix (out, n).
  function linear(x, T, name, out) {
    const w = weights[name + ".weight"], b = weights[name + ".bias"], n = x.length / T;
    const y = new Float32Array(T * out);
    for (let o = 0; o < out; ++o) {
      const row = o * n;
      for (let t = 0; t < T; ++t) {
        let sum = b ? b[o] : 0;
        for (let i = 0, at = t * n; i < n; ++i) sum += w[row + i] * x[at + i];
        y[t * out + o] = sum;
      }
    }
    return y;
  }

  // Each n features by themselves: LayerNorm (Ba et al., arXiv 1607.06450) where there is a bias, else RMSNorm (Zhang and
  // Sennrich, arXiv 1910.07467).
  function norm(x, name, n = C) {
    const w = weights[name + ".weight"], b = weights[name + ".bias"], y = new Float32Array(x.length);
    for (let at = 0; at < x.length; at += n) {
      let mean = 0, squares = 0;
      if (b) for (let i = 0; i < n; ++i) mean += x[at + i] / n;
      for (let i = 0; i < n; ++i) squares += (x[at + i] - mean) ** 2;
      const scale = 1 / Math.sqrt(squares / n + eps);
      for (let i = 0; i < n; ++i) y[at + i] = (x[at + i] - mean) * scale * w[i] + (b ? b[i] : 0);
    }
    return y;
  }

  // Turns the features i and i + hs / 2 of each head by angles that grow with the position (Su et al., arXiv 2104.09864).
  function turn(x, T) {
    const width = x.length / T, half = hs / 2;
    for (let t = 0; t < T; ++t) {
      for (let i = 0; i < half; ++i) {
        const angle = (length + t) * frequencies[i];
        const cosine = Math.fround(Math.cos(angle)), sine = Math.fround(Math.sin(angle));
        for (let at = t * width + i; at < (t + 1) * width; at += hs) {
          const a = x[at], b = x[at + half];
          x[at] = a * cosine - b * sine;
          x[at + half] = b * cosine + a * sine;
        }
      }
    }
    return x;
  }

  // q: (T, C), beside the keys and values of all positions up to each row's own; heads share them in groups.
  function attend(q, T, k, v) {
    const y = new Float32Array(T * C), scale = 1 / Math.sqrt(hs), p = new Float64Array(length + T);
    for (let t = 0; t < T; ++t) {
      const seen = length + t + 1;
      for (let h = 0; h < heads; ++h) {
        const from = t * C + h * hs, group = Math.floor(h * kvHeads / heads) * hs;
        let largest = -Infinity, mass = 0;
        for (let s = 0; s < seen; ++s) {
          let dot = 0;
          for (let i = 0, at = s * kvC + group; i < hs; ++i) dot += q[from + i] * k[at + i];
          p[s] = dot * scale;
          if (p[s] > largest) largest = p[s];
        }
        for (let s = 0; s < seen; ++s) mass += p[s] = Math.exp(p[s] - largest);
        for (let i = 0; i < hs; ++i) {
          let sum = 0;
          for (let s = 0, at = group + i; s < seen; ++s, at += kvC) sum += p[s] * v[at];
          y[from + i] = sum / mass;
        }
      }
    }
    return y;
  }

  const add = (x, y) => y.forEach((value, i) => { x[i] += value; });
  // In its tanh form (Hendrycks and Gimpel, arXiv 1606.08415).
  const gelu = (x) => 0.5 * x * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (x + 0.044715 * x * x * x)));
  const silu = (x) => x / (1 + Math.exp(-x));

  function gpt2Layer(x, T, i) {
    const at = `h.${i}.`, qkv = linear(norm(x, at + "ln_1"), T, at + "attn.c_attn", 3 * C), q = new Float32Array(T * C);
    for (let t = 0; t < T; ++t) {
      const row = qkv.subarray(t * 3 * C, (t + 1) * 3 * C);
      q.set(row.subarray(0, C), t * C);
      keys[i].set(row.subarray(C, 2 * C), (length + t) * C);
      values[i].set(row.subarray(2 * C), (length + t) * C);
    }
    add(x, linear(attend(q, T, keys[i], values[i]), T, at + "attn.c_proj", C));
    add(x, linear(linear(norm(x, at + "ln_2"), T, at + "mlp.c_fc", inner).map(gelu), T, at + "mlp.c_proj", C));
  }

  function llamaLayer(x, T, i) {
    const at = `model.layers.${i}.`, attn = at + "self_attn.";
    const normed = norm(x, at + "input_layernorm");
    const headed = (name, out) => {
      const projected = linear(normed, T, attn + name + "_proj", out), scales = attn + name + "_norm";
      return turn(weights[scales + ".weight"] ? norm(projected, scales, hs) : projected, T);
    };
    const q = headed("q", C);
    keys[i].set(headed("k", kvC), length * kvC);
    values[i].set(linear(normed, T, attn + "v_proj", kvC), length * kvC);
    add(x, linear(attend(q, T, keys[i], values[i]), T, attn + "o_proj", C));
    // SwiGLU (Shazeer, arXiv 2002.05202).
    const y = norm(x, at + "post_attention_layernorm");
    const gate = linear(y, T, at + "mlp.gate_proj", inner), up = linear(y, T, at + "mlp.up_proj", inner);
    add(x, linear(gate.map((value, j) => silu(value) * up[j]), T, at + "mlp.down_proj", C));
  }

  const table = gpt2 ? "wte" : "model.embed_tokens";
  const head = weights["lm_head.weight"] ? "lm_head" : table;
  return {
    block,
    clear() { length = 0; },
    // The logits behind the last of these tokens, which go on where the ones before have ended: Float32Array(V).
    step(tokens) {
      const T = tokens.length;
      if (length + T > block) throw new Error(`there must be at most ${block} tokens, got ${length + T}`);
      const x = new Float32Array(T * C), embedding = weights[table + ".weight"], positions = weights["wpe.weight"];
      for (let t = 0; t < T; ++t)
        for (let i = 0; i < C; ++i)
          x[t * C + i] = embedding[tokens[t] * C + i] + (gpt2 ? positions[(length + t) * C + i] : 0);
      for (let i = 0; i < layers; ++i) (gpt2 ? gpt2Layer : llamaLayer)(x, T, i);
      length += T;
      return linear(norm(x.subarray((T - 1) * C), gpt2 ? "ln_f" : "model.norm"), 1, head, V);
    },
  };
}

// What the next token is drawn from: exp(logit / temperature), made to sum to 1. At temperature 0 the likeliest has 1.
function probabilities(logits, temperature) {
  let best = 0;
  for (let i = 1; i < logits.length; ++i) if (logits[i] > logits[best]) best = i;
  const p = new Float64Array(logits.length);
  if (temperature === 0) {
    p[best] = 1;
    return p;
  }
  let mass = 0;
  for (let i = 0; i < p.length; ++i) mass += p[i] = Math.exp((logits[i] - logits[best]) / temperature);
  return p.map((value) => value / mass);
}

// One of them, by a number u from [0, 1).
function draw(p, u) {
  let sum = 0, last = 0;
  for (let i = 0; i < p.length; ++i) {
    if (p[i] === 0) continue;
    sum += p[i];
    last = i;
    if (u < sum) break;
  }
  return last;
}
