import { isExact } from './raw-numbers.ts';

const placeholder =
  /\$(uid|rv|t|continue|token|kaa|gen|g|ev|cid|podip|hash)(\d+)|\$(hostip|clusterip|dur|n|description|server)\b/g;

const patterns: Readonly<Record<string, string>> = {
  uid: '[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}',
  rv: '\\d+',
  t: '\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d(?:\\.\\d+)?(?:Z|[+-]\\d\\d:\\d\\d)',
  continue: '[A-Za-z0-9_=-]+',
  token: '[A-Za-z0-9_.-]+',
  kaa: '[a-z0-9]{5}',
  gen: '[a-z0-9]{5}',
  g: '[a-z0-9]{5}',
  ev: '[0-9a-f]+',
  cid: '[0-9a-f]{64}',
  podip: '[0-9a-f.:]+',
  hash: '[0-9a-f]{32}',
  hostip: '[0-9a-f.:]+',
  clusterip: '[0-9a-f.:]+',
  dur: '[0-9a-z.µ]+',
  n: '\\d+',
  description: '[\\s\\S]+',
  server: '[^"\\s/]+',
};

const escape = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
/** Placeholders that need not be the same value twice: times coincide by the second, the rest has no identity. */
const loose = new Set(['t', 'dur', 'n', 'description', 'server', 'hostip', 'clusterip']);
const kindOf = (name: string): string => /^\$([a-z]+)/.exec(name)?.[1] ?? '';

/** What the placeholders of a case stand for in this run. */
export class Bindings {
  readonly values = new Map<string, string>();
  /** Stands for versions that a case asks for before it has seen them. */
  unseenVersion: string | undefined;

  #invented(name: string): string {
    return name.startsWith('$rv') && this.unseenVersion !== undefined ? this.unseenVersion : invented(name);
  }

  /** A recorded text with what is known put in. */
  fill(text: string): string {
    return text.replace(placeholder, (whole) => this.values.get(whole) ?? this.#invented(whole));
  }

  /** A recorded value with what is known put in. */
  fillValue(value: unknown): unknown {
    if (typeof value === 'string') return this.fill(value);
    if (Array.isArray(value)) return value.map((item) => this.fillValue(item));
    if (typeof value !== 'object' || value === null || isExact(value)) return value;
    return Object.fromEntries(
      Object.entries(value).map(([key, inner]) => [this.fill(key), this.fillValue(inner)]),
    );
  }

  /** Whether a text is what was recorded; binds what it meets first. */
  matches(expected: string, actual: string): boolean {
    if (!expected.includes('$')) return expected === actual;
    const names: string[] = [];
    let source = '';
    let at = 0;
    for (const match of expected.matchAll(placeholder)) {
      const [whole] = match;
      source += escape(expected.slice(at, match.index));
      at = match.index + whole.length;
      const known = loose.has(kindOf(whole)) ? undefined : this.values.get(whole);
      if (known === undefined) {
        source += `(${patterns[kindOf(whole)] ?? '.+'})`;
        names.push(whole);
      } else source += escape(known);
    }
    source += escape(expected.slice(at));
    const found = new RegExp(`^${source}$`).exec(actual);
    if (!found) return false;
    names.forEach((name, i) => {
      if (!this.values.has(name)) this.values.set(name, found[i + 1] ?? '');
    });
    return true;
  }

  /** Pairs of versions that stand the wrong way round. */
  disorder(): string[] {
    const versions = [...this.values]
      .filter(([name]) => name.startsWith('$rv'))
      .map(([name, value]) => [Number(name.slice(3)), Number(value)] as const)
      .sort((a, b) => a[0] - b[0]);
    return versions.flatMap(([rank, value], i) => {
      const next = versions[i + 1];
      return next && next[1] <= value ? [`$rv${rank}=${value} is not below $rv${next[0]}=${next[1]}`] : [];
    });
  }
}

/** A value for a placeholder that a request uses before any answer had it. */
function invented(name: string): string {
  if (name.startsWith('$uid')) return `00000000-0000-4000-8000-${name.slice(4).padStart(12, '0')}`;
  if (name.startsWith('$rv')) return name === '$rv1' ? '1' : '99999999';
  if (name.startsWith('$g')) return 'xxxxx';
  if (name.startsWith('$token')) return name.slice(1);
  return name;
}
