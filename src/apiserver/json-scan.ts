/** Why Go's decoder refuses a text as JSON, in its words. */
export function jsonFault(text: string): string {
  const scanner = new Scanner(text);
  return scanner.fault() ?? 'unexpected end of JSON input';
}

/** What Go calls a JSON value that it cannot read into something. */
export const goKind = (value: unknown): string =>
  Array.isArray(value) ? 'array' : typeof value === 'boolean' ? 'bool' : typeof value;

/** `duplicate field "spec.restartPolicy"` for each member that an object names twice. */
export function duplicateFields(text: string): string[] {
  const found: string[] = [];
  try {
    new Scanner(text, (path) => found.push(`duplicate field "${path}"`)).value('');
  } catch {
    return [];
  }
  return [...new Set(found)];
}

/** A number that JavaScript may write otherwise than it stands: with a fraction, an exponent, or more digits than it can keep. */
const oddNumber = /[[:,]\s*-?(?:\d+[.eE]|\d{16})/;

/** The numbers of a text by path, as they are written; none where every one of them is plain. */
export function numberLiterals(text: string): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  if (!oddNumber.test(text)) return found;
  const note = (path: string, literal: string): void => {
    if (/[.eE]|\d{16}/.test(literal)) found.set(path, literal);
  };
  new Scanner(text, undefined, note).value('');
  return found;
}

const escapes: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t', "'": "\\'" };

/** A character as Go quotes it. */
function quoteRune(char: string): string {
  const known = escapes[char];
  if (known !== undefined) return `'${known}'`;
  const code = char.charCodeAt(0);
  return code < 0x20 || code === 0x7f ? `'\\x${code.toString(16).padStart(2, '0')}'` : `'${char}'`;
}

class ScanFault extends Error {}

/** Walks a JSON text once, with the positions that Go's scanner complains about. */
class Scanner {
  readonly #text: string;
  readonly #duplicate: (path: string) => void;
  readonly #foundNumber: (path: string, literal: string) => void;
  #at = 0;

  constructor(
    text: string,
    duplicate: (path: string) => void = () => undefined,
    foundNumber: (path: string, literal: string) => void = () => undefined,
  ) {
    this.#text = text;
    this.#duplicate = duplicate;
    this.#foundNumber = foundNumber;
  }

  fault(): string | undefined {
    try {
      this.value('');
      this.#space();
      if (this.#at < this.#text.length) this.#fail('after top-level value');
      return undefined;
    } catch (reason) {
      return reason instanceof ScanFault ? reason.message : undefined;
    }
  }

  value(path: string): void {
    this.#space();
    const char = this.#text[this.#at];
    if (char === '{') this.#object(path);
    else if (char === '[') this.#list(path);
    else if (char === '"') this.#string();
    else if (char === 't') this.#literal('true');
    else if (char === 'f') this.#literal('false');
    else if (char === 'n') this.#literal('null');
    else if (char !== undefined && /[-0-9]/.test(char)) this.#number(path);
    else this.#fail('looking for beginning of value');
  }

  #space(): void {
    while (/[ \t\r\n]/.test(this.#text[this.#at] ?? '')) this.#at++;
  }

  #fail(where: string): never {
    const char = this.#text[this.#at];
    if (char === undefined) throw new ScanFault('unexpected end of JSON input');
    const byte = Buffer.from(char)[0] ?? 0;
    throw new ScanFault(
      `invalid character ${quoteRune(byte < 0x80 ? char : String.fromCharCode(byte))} ${where}`,
    );
  }

  #object(path: string): void {
    this.#at++;
    const seen = new Set<string>();
    this.#space();
    if (this.#text[this.#at] === '}') {
      this.#at++;
      return;
    }
    for (;;) {
      this.#space();
      if (this.#text[this.#at] !== '"') this.#fail('looking for beginning of object key string');
      const start = this.#at;
      this.#string();
      const key = JSON.parse(this.#text.slice(start, this.#at)) as string;
      const inner = path ? `${path}.${key}` : key;
      if (seen.has(key)) this.#duplicate(inner);
      seen.add(key);
      this.#space();
      if (this.#text[this.#at] !== ':') this.#fail('after object key');
      this.#at++;
      this.value(inner);
      this.#space();
      const next = this.#text[this.#at];
      if (next === '}') {
        this.#at++;
        return;
      }
      if (next !== ',') this.#fail('after object key:value pair');
      this.#at++;
    }
  }

  #list(path: string): void {
    this.#at++;
    this.#space();
    if (this.#text[this.#at] === ']') {
      this.#at++;
      return;
    }
    for (let i = 0; ; i++) {
      this.value(`${path}[${i}]`);
      this.#space();
      const next = this.#text[this.#at];
      if (next === ']') {
        this.#at++;
        return;
      }
      if (next !== ',') this.#fail('after array element');
      this.#at++;
    }
  }

  #string(): void {
    this.#at++;
    for (;;) {
      const char = this.#text[this.#at];
      if (char === undefined) this.#fail('in string literal');
      if (char === '"') {
        this.#at++;
        return;
      }
      if (char < ' ') this.#fail('in string literal');
      this.#at += char === '\\' ? 2 : 1;
    }
  }

  #literal(word: string): void {
    for (let i = 1; i < word.length; i++) {
      this.#at++;
      if (this.#text[this.#at] !== word[i])
        this.#fail(`in literal ${word} (expecting ${quoteRune(word[i] ?? '')})`);
    }
    this.#at++;
  }

  #number(path: string): void {
    const match = /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?/.exec(this.#text.slice(this.#at, this.#at + 400));
    if (!match) {
      this.#at++;
      this.#fail('in numeric literal');
    }
    this.#at += match[0].length;
    this.#foundNumber(path, match[0]);
  }
}
