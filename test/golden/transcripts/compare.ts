import type { Bindings } from './bindings.ts';
import { isExact, plain } from './raw-numbers.ts';

/** One place where an answer is not what was recorded. */
export interface Difference {
  readonly path: string;
  readonly expected: unknown;
  readonly actual: unknown;
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !isExact(value);

/** Source positions depend on the build, and so do hashes of documents and what the server's program was called. */
const buildIndependent = (text: string): string =>
  text
    .replace(/\?hash=[0-9A-F]{128}$/, '?hash=…')
    .replace(/in scheme "[^"]*"/g, 'in scheme "…"')
    .replace(/^kube-apiserver\.up$/, 'kube-apiserver')
    .replace(/("resourceVersion\\*":\\*")\d+|(\\"resourceVersion\\":\\")\d+/g, '$1$2…');

const managerKey = (entry: unknown): string =>
  isRecord(entry)
    ? ['manager', 'operation', 'apiVersion', 'subresource'].map((key) => JSON.stringify(entry[key])).join('|')
    : '';

const by =
  (key: (item: unknown) => string) =>
  (a: unknown, b: unknown): number =>
    key(a).localeCompare(key(b));

/** Lists whose order says nothing: owners come by the second, rules as a map of roles gives them. */
const unordered = [
  ['.managedFields', by(managerKey)],
  ['.resourceRules', by((rule) => JSON.stringify(rule))],
  ['.nonResourceRules', by((rule) => JSON.stringify(rule))],
] as const;

/** What `/version` says of the build itself; every program has its own. */
const buildFields = new Set([
  'gitVersion',
  'gitCommit',
  'buildDate',
  'goVersion',
  'compiler',
  'platform',
  'gitTreeState',
]);

/** An age in a table: of something just made, in seconds, or of a date that a client sent, in years and days. */
const age = /(^|\()(?:\d{1,3}s|(\d+)y\d+d)(?= ago|\)|$)/g;

/** Ages depend on the day and on how quick the run is; a table's cell says the same but for them. */
const sameAge = (expected: string, actual: string): boolean =>
  expected.replace(age, '$1$2y') === actual.replace(age, '$1$2y');

/** A time so far ahead that the recorder took it for a date of its own. */
const sameSeason = (expected: string, actual: string): boolean =>
  Math.abs(Date.parse(actual) - Date.parse(expected)) < 60 * 86_400_000;

/** A time of an HTTP header: when the recorded server had made a document. */
const dated = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} [\d:]{8} GMT$/;

/** The port on which the recorder's server listened: services lead to it. */
const serverPort = 7444;

/** Differences between what was recorded and what came, placeholders bound on the way. */
export function differ(expected: unknown, actual: unknown, bindings: Bindings, path = ''): Difference[] {
  if (typeof expected === 'string' && typeof actual === 'string')
    return bindings.matches(buildIndependent(expected), buildIndependent(actual)) ||
      (/\.cells\[\d+\]$/.test(path) && sameAge(expected, actual)) ||
      (dated.test(expected) && dated.test(actual)) ||
      (path.endsWith('.expirationTimestamp') && sameSeason(expected, actual))
      ? []
      : [{ path, expected: bindings.fill(expected), actual }];
  if (Array.isArray(expected) && Array.isArray(actual)) return list(expected, actual, bindings, path);
  if (isRecord(expected) && isRecord(actual)) return record(expected, actual, bindings, path);
  const own = expected === serverPort && path.endsWith('.targetPort') && typeof actual === 'number';
  return own || Object.is(plain(expected), actual) ? [] : [{ path, expected, actual }];
}

function list(expected: unknown[], actual: unknown[], bindings: Bindings, path: string): Difference[] {
  const order = unordered.find(([end]) => path.endsWith(end))?.[1];
  const [left, right] = order ? [[...expected].sort(order), [...actual].sort(order)] : [expected, actual];
  const found: Difference[] = [];
  for (let i = 0; i < Math.max(left.length, right.length); i++)
    found.push(...differ(left[i], right[i], bindings, `${path}[${i}]`));
  return found;
}

function record(
  expected: Record<string, unknown>,
  actual: Record<string, unknown>,
  bindings: Bindings,
  path: string,
): Difference[] {
  const found: Difference[] = [];
  const seen = new Set<string>();
  const isVersion = 'gitVersion' in expected && 'emulationMajor' in expected;
  const inManaged = /\.managedFields\[\d+\]$/.test(path);
  for (const [name, value] of Object.entries(expected)) {
    const key = name.includes('$')
      ? (Object.keys(actual).find((other) => bindings.matches(name, other)) ?? name)
      : name;
    seen.add(key);
    if (inManaged && key === 'time') continue;
    if (isVersion && buildFields.has(key)) continue;
    found.push(...differ(value, actual[key], bindings, `${path}.${key}`));
  }
  for (const key of Object.keys(actual))
    if (!seen.has(key)) found.push({ path: `${path}.${key}`, expected: undefined, actual: actual[key] });
  return found;
}
