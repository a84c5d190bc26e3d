// The attention of the lessons, in the order of annexes/layers/self_attention.cpp: each operation rounds its results to float32.
const f32 = Math.fround;

// JSON has infinities as text. An element of a list of lists becomes a number; null stays.
function numbers(x) {
  if (Array.isArray(x)) return x.map(numbers);
  return typeof x === "string" ? ({ inf: Infinity, "-inf": -Infinity }[x] ?? NaN) : x;
}

const map = (a, f) => a.map((row, i) => row.map((x, j) => f(x, i, j)));
const transpose = (a) => a[0].map((_, j) => a.map((row) => row[j]));
const sum = (row) => row.reduce((all, x) => f32(all + x), 0);
const dot = (a, b) => a.reduce((all, x, i) => f32(all + x * b[i]), 0);
function matmul(a, b) {
  const columns = transpose(b);
  return a.map((row) => columns.map((column) => dot(row, column)));
}

// Of a row. A row of -inf alone gives NaN, or zeros if `safe`.
function softmax(row, safe = false) {
  const largest = Math.max(...row);
  if (safe && largest === -Infinity) return row.map(() => 0);
  const powers = row.map((x) => f32(Math.exp(f32(x - largest))));
  const all = sum(powers);
  return powers.map((power) => f32(power / all));
}

const causalMask = (tokens) => Array.from({ length: tokens }, (_, i) => Array.from({ length: tokens }, (_, j) => j > i));
const fillOf = (options) => (options.safe ? -Infinity : options.fill);
const slice = (a, from, size) => a.map((row) => row.slice(from, from + size));

// x (T, d_in); W_query, W_key, W_value (d_in, d_out); mask (T, T), true: hidden; dropout (T, T), factors of the weights, used if
// options.dropout. `heads` has the steps of each head in their order, and `context` is (T, d_out).
function attention({ x, W_query, W_key, W_value, mask, dropout, options }) {
  const queries = matmul(x, W_query),
    keys = matmul(x, W_key),
    values = matmul(x, W_value);
  const size = keys[0].length / options.num_heads;
  const heads = Array.from({ length: options.num_heads }, (_, head) => {
    const part = (a) => slice(a, head * size, size);
    const steps = {};
    let last;
    const step = (name, value) => {
      last = steps[name] = value;
    };
    step("scores", matmul(part(queries), transpose(part(keys))));
    if (options.scaled)
      step(
        "scaled",
        map(last, (score) => f32(score / f32(Math.sqrt(size)))),
      );
    if (options.mask_on === "scores")
      step(
        "masked",
        map(last, (score, i, j) => (mask[i][j] ? fillOf(options) : score)),
      );
    step(
      "weights",
      last.map((row) => softmax(row, options.safe)),
    );
    if (options.mask_on === "weights") {
      step(
        "maskedWeights",
        map(last, (weight, i, j) => f32(weight * !mask[i][j])),
      );
      const sums = last.map((row) => (options.safe && sum(row) === 0 ? 1 : sum(row)));
      if (options.renormalise)
        step(
          "renormalised",
          map(last, (weight, i) => f32(weight / sums[i])),
        );
    }
    if (options.dropout)
      step(
        "dropped",
        map(last, (weight, i, j) => f32(weight * dropout[i][j])),
      );
    return { steps, context: matmul(last, part(values)) };
  });
  return { queries, keys, values, heads, context: x.map((_, i) => heads.flatMap((head) => head.context[i])) };
}

// -- the variants that are not options of the layer

// Each token attends by itself to the tokens that it may see.
function oneByOne(layer) {
  const { queries, keys, values } = attention(layer),
    root = f32(Math.sqrt(keys[0].length));
  return queries.map((query, i) => {
    const seen = [...keys.keys()].filter((j) => !layer.mask[i][j]);
    const weights = softmax(seen.map((j) => f32(dot(query, keys[j]) / root)));
    return values[0].map((_, column) =>
      dot(
        weights,
        seen.map((j) => values[j][column]),
      ),
    );
  });
}

// Reads keys in blocks, and keeps for each query only the largest score, the sum of the powers and the sum of the values.
function inBlocks(layer, block = 2) {
  const { queries, keys, values } = attention(layer),
    root = f32(Math.sqrt(keys[0].length));
  return queries.map((query, i) => {
    let largest = -Infinity,
      all = 0,
      context = values[0].map(() => 0);
    for (let first = 0; first < keys.length; first += block) {
      const seen = [...keys.keys()].slice(first, first + block).filter((j) => !layer.mask[i][j]);
      if (seen.length === 0) continue;
      const scores = seen.map((j) => f32(dot(query, keys[j]) / root)),
        next = Math.max(largest, ...scores);
      const kept = f32(Math.exp(f32(largest - next))),
        powers = scores.map((score) => f32(Math.exp(f32(score - next))));
      all = f32(f32(all * kept) + sum(powers));
      context = context.map((x, column) =>
        f32(
          f32(x * kept) +
            dot(
              powers,
              seen.map((j) => values[j][column]),
            ),
        ),
      );
      largest = next;
    }
    return context.map((x) => (all === 0 ? 0 : f32(x / all)));
  });
}

// The context of a variant, by its name, on the input, the weights and the mask of `layer`.
function variantContext({ variant, options }, layer) {
  const withOptions = (others) => ({
    ...layer,
    options: { ...layer.options, ...options, fill: numbers(options.fill), ...others },
  });
  const changed = withOptions({});
  const others = {
    "in a batch": () => [changed, changed].map((sequence) => attention(sequence).context)[1],
    "one query at a time": () => oneByOne(changed),
    "fused kernel": () => inBlocks(changed),
    "0 on the weights, not renormalised": () => attention(withOptions({ renormalise: false })).context,
  };
  return (others[variant] ?? (() => attention(changed).context))();
}

// -- comparisons

// The largest absolute difference of two matrices; NaN if only one of them has a NaN at some place.
function largestDifference(a, b) {
  let largest = 0;
  a.forEach((row, i) =>
    row.forEach((x, j) => {
      if (Object.is(x, b[i][j])) return;
      const apart = Math.abs(x - b[i][j]);
      largest = Number.isNaN(apart) || apart > largest ? apart : largest;
    }),
  );
  return largest;
}

const kRounding = 1e-6; // differences up to this are of rounding

// "moved", "rounded" or null.
function change(now, before) {
  if (before === undefined || Object.is(now, before) || now === before) return null;
  return Math.abs(now - before) <= kRounding ? "rounded" : "moved";
}
