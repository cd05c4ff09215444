import { tableOf } from '../../base/own.ts';
/**
 * Writes JSON as YAML like `sigs.k8s.io/yaml` (go-yaml v2): keys sorted with numbers by their value, texts that YAML 1.1 would read as
 * another type in double quotes, lines broken at the first space beyond 80 columns.
 */
export function toYaml(value: unknown): string {
  const lines = blockOf(value, 0);
  return typeof lines === 'string' ? `${lines}\n` : `${lines.join('\n')}\n`;
}

const width = 80;

/** Returns the lines of a mapping or list, or the text after a key for any other value. */
function blockOf(value: unknown, indent: number): readonly string[] | string {
  if (Array.isArray(value))
    return value.length === 0 ? '[]' : value.flatMap((item) => listItem(item, indent));
  if (typeof value === 'object' && value !== null) {
    const entries = Object.entries(value).sort(([a], [b]) => byNature(a, b));
    return entries.length === 0 ? '{}' : entries.flatMap(([key, inner]) => member(key, inner, indent));
  }
  return scalar(value, indent, indent);
}

const pad = (indent: number): string => ' '.repeat(indent);

/** Writes a list item: at the indentation of its key, its content two columns deeper. */
function listItem(item: unknown, indent: number): readonly string[] {
  if (typeof item === 'string') return `${pad(indent)}- ${text(item, indent + 2, indent + 2)}`.split('\n');
  const block = blockOf(item, indent + 2);
  if (typeof block === 'string') return [`${pad(indent)}- ${block}`];
  const [first = '', ...rest] = block;
  return [`${pad(indent)}- ${first.slice(indent + 2)}`, ...rest];
}

function member(key: string, value: unknown, indent: number): readonly string[] {
  const name = `${pad(indent)}${simpleKey(key)}:`;
  if (typeof value === 'string') return `${name} ${text(value, name.length + 1, indent + 2)}`.split('\n');
  const block = blockOf(value, Array.isArray(value) ? indent : indent + 2);
  return typeof block === 'string' ? [`${name} ${block}`] : [name, ...block];
}

const scalar = (value: unknown, column: number, indent: number): string =>
  typeof value === 'string' ? text(value, column, indent) : value === null ? 'null' : number(value);

/** Writes integers as they are, other numbers like Go's `%g`. */
function number(value: unknown): string {
  if (typeof value !== 'number' || (Number.isInteger(value) && Math.abs(value) < 2 ** 63))
    return typeof value === 'bigint' || typeof value === 'number' ? BigInt(value).toString() : String(value);
  return String(value).replace(/e([+-])(\d)$/, 'e$10$2');
}

const simpleKey = (key: string): string => text(key, -Infinity, 0);

/** @param column where the text begins; `-Infinity`: it must stay on one line */
function text(value: string, column: number, indent: number): string {
  const isKey = column === -Infinity;
  if (
    value.includes('\n') &&
    !isKey &&
    !/[^\n\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/u.test(value) &&
    !/ (?:\n|$)/.test(value)
  )
    return literal(value, indent);
  const { plain, single } = allowed(value);
  if (plain && !isOther(value)) return folded(value, column, indent, false);
  if (single && !isOther(value)) return `'${folded(value.replaceAll("'", "''"), column + 1, indent, true)}'`;
  return doubleQuoted(value, column, indent);
}

/** Writes a literal block; the header states the number of trailing line ends. */
function literal(value: string, indent: number): string {
  const ends = /\n*$/.exec(value)?.[0].length ?? 0;
  const chomp = ends === 0 ? '-' : ends === 1 && value !== '\n' ? '' : '+';
  const hint = /^[ \n]/.test(value) ? '2' : '';
  const lines = (ends > 0 ? value.slice(0, -1) : value).split('\n');
  return `|${hint}${chomp}\n${lines.map((line) => (line === '' ? '' : pad(indent) + line)).join('\n')}`;
}

/**
 * Breaks at the first single space beyond the width. @param quoted whether the first and last character are quotes, where no break is
 * allowed
 */
function folded(written: string, column: number, indent: number, quoted: boolean): string {
  if (column === -Infinity || column + written.length <= width) return written;
  let [out, at, afterBlank] = ['', column, false];
  const letters = Array.from(written);
  letters.forEach((letter, i) => {
    const atEnd = quoted && (i === 0 || i === letters.length - 1);
    const breaks = letter === ' ' && !afterBlank && at > width && letters[i + 1] !== ' ' && !atEnd;
    [out, at] = breaks ? [`${out}\n${pad(indent)}`, indent] : [out + letter, at + 1];
    afterBlank = letter === ' ';
  });
  return out;
}

const escapes: Readonly<Record<string, string>> = tableOf({
  '\0': '\\0', '\x07': '\\a', '\b': '\\b', '\t': '\\t', '\n': '\\n', '\v': '\\v', '\f': '\\f', '\r': '\\r', '\x1b': '\\e',
  '"': '\\"', '\\': '\\\\', '\x85': '\\N', '\xa0': '\\_', '\u2028': '\\L', '\u2029': '\\P',
}); // prettier-ignore

const isPrintable = (letter: string): boolean =>
  /^[\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd]$/u.test(letter);

function escaped(letter: string): string {
  const escape = escapes[letter];
  if (escape !== undefined) return escape;
  if (isPrintable(letter)) return letter;
  const code = letter.codePointAt(0) ?? 0;
  const [sign, digits] = code <= 0xff ? ['x', 2] : code <= 0xffff ? ['u', 4] : ['U', 8];
  return `\\${sign}${code.toString(16).toUpperCase().padStart(digits, '0')}`;
}

function doubleQuoted(value: string, column: number, indent: number): string {
  let [out, at, afterBlank] = ['"', column + 1, false];
  const letters = Array.from(value);
  letters.forEach((letter, i) => {
    if (letter === ' ' && !afterBlank && at > width && i > 0 && i < letters.length - 1) {
      const next = letters[i + 1] === ' ' ? '\\' : '';
      [out, at] = [`${out}\n${pad(indent)}${next}`, indent + next.length];
    } else {
      const shown = escaped(letter);
      [out, at] = [out + shown, at + shown.length];
    }
    afterBlank = letter === ' ';
  });
  return `${out}"`;
}

/** Returns the styles in which a text can be written. Follows libyaml `yaml_emitter_analyze_scalar` in block context. */
function allowed(value: string): { readonly plain: boolean; readonly single: boolean } {
  const odd = Array.from(value).some((letter) => !isPrintable(letter));
  const edges = /^ | $/.test(value);
  const indicator = /^[#,[\]{}&*!|>'"%@`]|^[?:-](?:\s|$)|^---|^\.\.\./.test(value) || /: |:$| #/.test(value);
  return { plain: value !== '' && !odd && !edges && !indicator, single: !odd };
}

const words = new Set([
  ...[
    '',
    '~',
    'null',
    'Null',
    'NULL',
    'y',
    'Y',
    'yes',
    'Yes',
    'YES',
    'on',
    'On',
    'ON',
    'true',
    'True',
    'TRUE',
  ],
  ...['n', 'N', 'no', 'No', 'NO', 'off', 'Off', 'OFF', 'false', 'False', 'FALSE', '.nan', '.NaN', '.NAN'],
  ...['', '+', '-'].flatMap((sign) => ['.inf', '.Inf', '.INF'].map((word) => sign + word)),
]);

/** Reports whether YAML 1.1 reads a bare text as a number, boolean, null or time. */
function isOther(value: string): boolean {
  if (words.has(value)) return true;
  if (!/^[-+.\d]/.test(value)) return false;
  const bare = value.replaceAll('_', '');
  return (
    /^[-+]?(?:0|[1-9]\d*|0[0-7]+|0[oO][0-7]+|0[xX][\da-fA-F]+|0[bB][01]+)$/.test(bare) ||
    /^[-+]?(?:\.\d+|\d+(?:\.\d*)?)(?:[eE][-+]?\d+)?$/.test(bare) ||
    /^[-+]?\d[\d_]*(?::[0-5]?\d)+(?:\.[\d_]*)?$/.test(value) ||
    /^\d{4}-\d\d?-\d\d?(?:[Tt ]\d\d?:\d\d?:\d\d?(?:\.\d+)?(?: ?(?:Z|[-+]\d\d:\d\d))?)?$/.test(value)
  );
}

const isLetter = (letter: string): boolean => /^\p{L}$/u.test(letter);

/** Compares keys like go-yaml: letters after everything else, numbers by their value. */
function byNature(a: string, b: string): number {
  const [left, right] = [Array.from(a), Array.from(b)];
  const shared = Math.min(left.length, right.length);
  let at = 0;
  while (at < shared && left[at] === right[at]) at++;
  const [one, other] = [left[at], right[at]];
  if (one === undefined || other === undefined) return left.length - right.length;
  if (isLetter(one) !== isLetter(other)) return isLetter(one) ? 1 : -1;
  return (isLetter(one) ? 0 : byNumber(left.slice(at), right.slice(at))) || (one < other ? -1 : 1);
}

/** Compares the leading numbers of two texts, the shorter first; 0: they are equal. */
function byNumber(left: readonly string[], right: readonly string[]): number {
  const [m = '', n = ''] = [left, right].map((letters) => /^\d*/.exec(letters.join(''))?.[0]);
  return Number(m) - Number(n) || m.length - n.length;
}
