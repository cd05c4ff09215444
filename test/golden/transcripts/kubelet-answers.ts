import { Bindings } from './bindings.ts';
import { differ } from './compare.ts';
import type { Deviation, Step } from './transcript.ts';
import type { Upstream } from './upstream.ts';

/** What steps of the kubelet's families have beside those of the API server's. */
export interface KubeletStep extends Step {
  readonly port?: string;
  readonly stillOpen?: boolean;
  readonly stillOpenAfter3s?: boolean;
  readonly protocol?: string | null;
  readonly sent?: readonly { readonly opcode?: number; readonly base64?: string; readonly sleep?: number }[];
  readonly frames?: readonly RecordedFrame[];
  readonly received?: string;
  readonly upstream?: readonly Upstream[];
  readonly authorizerCalls?: readonly { readonly resource: string; readonly spec: unknown }[];
}

/** A frame as it was recorded: as text, or as bytes where it is none. */
export interface RecordedFrame {
  readonly opcode: number;
  readonly channel?: number;
  readonly text?: string;
  readonly base64?: string;
  readonly code?: number;
}

export type Found = Omit<Deviation, 'step'>;

export const other = (what: string, expected: string, actual: string): Found => ({
  what,
  path: '',
  expected,
  actual,
});

export const statusFault = ({ res }: KubeletStep, status: number, text: string): Found[] =>
  res && res.status !== status
    ? [{ what: 'status', path: '', expected: `${res.status} ${res.text ?? ''}`, actual: `${status} ${text}` }]
    : [];

/** A review without the token. */
export const reviewText = (resource: string, spec: unknown): string =>
  resource === 'tokenreviews' ? resource : `${resource} ${sortedJson(spec)}`;

const sortedJson = (value: unknown): string =>
  JSON.stringify(value, (_key, inner: unknown) =>
    typeof inner === 'object' && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  );

export const withoutTime = (line: string): string => line.replace(/^(\$t\d+|\d{4}-\d\d-\d\dT\S+) /, '$t ');

/** Which of the two streams' lines came first is chance; a log that is cut shows as many bytes all the same. */
export const sameLog = (expected: string, actual: string): boolean =>
  /\$t|2026/.test(expected)
    ? actual.split('\n').length === expected.split('\n').length
    : Math.abs(expected.length - actual.length) === 0;

/** The runtime's own words differ by version, and the image that was recorded had fewer folders. */
export const runtimeText = (text: string): string =>
  text
    .replace(/(OCI runtime exec failed)[\s\S]*/, '$1')
    .replace(/^(root|tmp)\n/gm, '')
    .replace(/(^unable to upgrade: .*X-Stream-Protocol-Version .*\n)+/gm, 'unable to upgrade\n');

/** Folders of an image as `ls` shows them, in lines or, on a terminal, in columns. */
const folders = (text: string): string =>
  /^bin\s+dev\s/.test(text)
    ? text
        .trim()
        .split(/\s+/)
        .filter((name) => !['root', 'tmp'].includes(name))
        .join(' ')
    : text;

/**
 * What a shell on a terminal shows, whatever the order: the terminal echoes what is typed at once, and the shell once more when it is up,
 * so it is chance whether that stands before the shell's greeting, after it, or both.
 */
const session = (text: string): string => {
  if (!text.includes('BusyBox')) return text;
  const shown = text.replace(/\u001b\[\d*[A-Za-z]|\/ # /g, '').replace(/BusyBox v[^\r]*/g, 'BusyBox');
  const lines = [...new Set(shown.split(/[\r\n]+/).map((line) => line.trim()))];
  // what was typed while the shell came up may stand there cut in two
  return lines
    .filter((line) => !lines.some((other) => other !== line && other.startsWith(line)))
    .sort()
    .join('\n');
};

export const comparable = (text: string): string =>
  session(folders(text))
    .replace(/(OCI runtime exec failed)[^}]*/g, '$1')
    .replace(/(error forwarding port \d+ to pod )[\s\S]*/, '$1')
    .replace(/Date: [^\r]*|Last-Modified: [^\r]*|ETag: [^\r]*/g, '')
    .replace(/exec \\+"[0-9a-f$cid]+\\+"/g, 'exec');

export type Metrics = Readonly<Record<string, { readonly type: string; readonly labels: readonly string[] }>>;

/** What is served is a part of what was recorded: names of the same meaning, with the same type and labels. */
export function metricFaults(recorded: Metrics, text: string): Found[] {
  const types = new Map(
    [...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name = '', type = '']) => [name, type]),
  );
  const found: Found[] = [];
  for (const [name, type] of types) {
    const one = recorded[name];
    if (!one) {
      if (!name.startsWith('nodejs_')) found.push(other('metric', 'one that was recorded', name));
      continue;
    }
    if (one.type !== type) found.push(other(`type of ${name}`, one.type, type));
    const line = new RegExp(`^${name}(?:_bucket)?(?:\\{(.*)\\})? `, 'm').exec(text);
    const labels = [...(line?.[1] ?? '').matchAll(/(\w+)="/g)].map(([, label = '']) => label).sort();
    if (line && labels.join() !== [...one.labels].sort().join())
      found.push(other(`labels of ${name}`, one.labels.join(), labels.join()));
  }
  if (types.size === 0 && Object.keys(recorded).length > 0) found.push(other('metrics', 'some', 'none'));
  return found;
}

/** Documents are compared by kind and shape: what stands in them is this machine's. */
export function jsonFaults(expected: unknown, text: string): Found[] {
  const wanted = expected as {
    kind?: string;
    code?: number;
    items?: readonly { metadata?: { name?: string; namespace?: string } }[];
  };
  let actual: typeof wanted;
  try {
    actual = JSON.parse(text) as typeof wanted;
  } catch {
    return [other('body', sortedJson(expected), text)];
  }
  if (wanted.kind === 'Status')
    return differ(expected, actual, new Bindings()).map((one) => ({ what: 'body', ...one }));
  const names = ({ items = [] }: typeof wanted): string =>
    items
      .filter(({ metadata }) => metadata?.namespace === 'kapi')
      .map(({ metadata }) => metadata?.name ?? '')
      .sort()
      .join();
  if (names(wanted) !== names(actual)) return [other('pods', names(wanted), names(actual))];
  const keys = (value: object): string => Object.keys(value).sort().join();
  return keys(wanted) === keys(actual) ? [] : [other('members', keys(wanted), keys(actual))];
}
