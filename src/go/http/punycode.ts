/** True for ASCII text. */
export const isAscii = (text: string): boolean => /^[\0-\x7f]*$/.test(text);

/** Converts non-ASCII labels of a host name to Punycode without mapping or checks, as Go sends it in the Host header. */
export const punycodeHost = (name: string): string =>
  name
    .split('.')
    .map((label) => (isAscii(label) ? label : `xn--${punycode(label)}`))
    .join('.');

// Parameters of RFC 3492.
const [base, tMin, tMax, skew, damp, initialBias, initialCode] = [36, 1, 26, 38, 700, 72, 128];

/** Encodes a label. Follows RFC 3492, section 6.3. */
function punycode(label: string): string {
  const codes = Array.from(label, (character) => character.codePointAt(0) ?? 0);
  const basic = codes.filter((code) => code < initialCode);
  let output = String.fromCharCode(...basic) + (basic.length > 0 ? '-' : '');
  let [delta, bias, done, next] = [0, initialBias, basic.length, initialCode];
  const higher = [...new Set(codes.filter((code) => code >= initialCode))].sort((a, b) => a - b);
  for (const code of higher) {
    delta += (code - next) * (done + 1);
    for (const each of codes) {
      if (each < code) delta++;
      if (each !== code) continue;
      output += digitsOf(delta, bias);
      bias = adapted(delta, done + 1, done === basic.length);
      delta = 0;
      done++;
    }
    delta++;
    next = code + 1;
  }
  return output;
}

/** Encodes a variable-length integer. */
function digitsOf(delta: number, bias: number): string {
  let [text, rest] = ['', delta];
  for (let k = base; ; k += base) {
    const threshold = Math.min(tMax, Math.max(tMin, k - bias));
    if (rest < threshold) return text + digit(rest);
    text += digit(threshold + ((rest - threshold) % (base - threshold)));
    rest = Math.floor((rest - threshold) / (base - threshold));
  }
}

const digit = (value: number): string => 'abcdefghijklmnopqrstuvwxyz0123456789'[value] ?? '';

function adapted(delta: number, count: number, isFirst: boolean): number {
  let rest = Math.floor(delta / (isFirst ? damp : 2));
  rest += Math.floor(rest / count);
  let k = 0;
  for (; rest > ((base - tMin) * tMax) / 2; k += base) rest = Math.floor(rest / (base - tMin));
  return k + Math.floor(((base - tMin + 1) * rest) / (rest + skew));
}
