// The arithmetic of the course's small Transformers, one position at a time, in typed arrays. Sums are kept in double precision.

/** The numbers of a model: name -> Float32Array, from 16-bit floats that lie one after another (little-endian). An array with a width is a table
 * of 8 bits a number: first a 16-bit scale for each row, then the rows. */
function unpack(tensors, bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset), found = {};
  const powers = Float64Array.from({ length: 32 }, (_, exponent) => 2 ** (Math.max(exponent, 1) - 25));
  let at = 0;
  const half = () => {
    const bits = view.getUint16(at, true), exponent = (bits >> 10) & 31, fraction = bits & 1023;
    at += 2;
    const value = (exponent ? fraction + 1024 : fraction) * powers[exponent];
    return bits & 0x8000 ? -value : value;
  };
  for (const [name, size, width] of tensors) {
    const scales = Array.from({ length: width ? size / width : 0 }, half);
    found[name] = Float32Array.from({ length: size }, width ? (_, place) => view.getInt8(at++) * scales[Math.floor(place / width)] : half);
  }
  return found;
}

/** weight · x + bias; the weight has a row for each output, and the bias may be missing. */
function linear(weight, bias, x) {
  const width = x.length, out = new Float32Array(weight.length / width);
  for (let row = 0, at = 0; row < out.length; row++) {
    let sum = bias ? bias[row] : 0;
    for (let column = 0; column < width; column++) sum += weight[at++] * x[column];
    out[row] = sum;
  }
  return out;
}

function layerNorm(weight, bias, x, epsilon) {
  let mean = 0, variance = 0;
  for (const value of x) mean += value / x.length;
  for (const value of x) variance += (value - mean) ** 2 / x.length;
  const scale = 1 / Math.sqrt(variance + epsilon);
  return x.map((value, at) => (value - mean) * scale * weight[at] + bias[at]);
}

const plus = (one, other) => one.map((value, at) => value + other[at]);
const relu = (x) => x.map((value) => Math.max(0, value));
const gelu = (x) => x.map((value) => 0.5 * value * (1 + erf(value / Math.SQRT2)));

/** The error function; its relative error is below 1.2e-7 (Numerical Recipes, erfcc). */
function erf(x) {
  const t = 1 / (1 + 0.5 * Math.abs(x));
  const series = [0.17087277, -0.82215223, 1.48851587, -1.13520398, 0.27886807, -0.18628806, 0.09678418, 0.37409196, 1.00002368, -1.26551223];
  const rest = t * Math.exp(-x * x + series.reduce((sum, coefficient) => sum * t + coefficient, 0));
  return x >= 0 ? 1 - rest : rest - 1;
}

/** Probabilities, as an ordinary array. */
function softmax(logits) {
  const highest = logits.reduce((most, value) => Math.max(most, value), -Infinity);
  const powers = Array.from(logits, (value) => Math.exp(value - highest));
  const total = powers.reduce((sum, value) => sum + value, 0);
  return powers.map((value) => value / total);
}

/** One query and all keys: what the heads bring, side by side, and the weights of each head. */
function attend(query, keys, values, heads) {
  const size = query.length / heads, mixed = new Float32Array(query.length), weights = [];
  for (let head = 0; head < heads; head++) {
    const first = head * size;
    const shares = softmax(keys.map((key) => {
      let sum = 0;
      for (let at = first; at < first + size; at++) sum += query[at] * key[at];
      return sum / Math.sqrt(size);
    }));
    for (let at = first; at < first + size; at++) mixed[at] = shares.reduce((sum, share, place) => sum + share * values[place][at], 0);
    weights.push(shares);
  }
  return { mixed, weights };
}

/** Places of the largest numbers, the largest first. */
function largest(numbers, count) {
  return Array.from(numbers, (_, place) => place).sort((one, other) => numbers[other] - numbers[one]).slice(0, count);
}

/** A trained model: its configuration and its numbers, as a page carries them. */
class Network {
  /** about: configuration and the names of the arrays; bytes: their numbers. */
  constructor(about, bytes) {
    Object.assign(this, about.config);
    this.numbers = unpack(about.tensors, bytes);
  }

  layer(name) {
    return { weight: this.numbers[`${name}.weight`], bias: this.numbers[`${name}.bias`] };
  }

  apply(name, x) {
    const { weight, bias } = this.layer(name);
    return linear(weight, bias, x);
  }

  normed(name, x, epsilon = 1e-5) {
    const { weight, bias } = this.layer(name);
    return layerNorm(weight, bias, x, epsilon);
  }
}
