import { rfc3339 } from '../kube/time.ts';
import { type Reply, type ServerRequest, text } from './reply.ts';

/** A z-page: as text or as a versioned structure. */
export interface ZPage {
  /** `Flagz` or `Statusz`. */
  readonly kind: string;
  readonly text: string;
  /** Members besides kind, version and metadata. */
  readonly body: Readonly<Record<string, unknown>>;
}

const group = 'config.k8s.io';
const versions = ['v1beta1', 'v1alpha1'];

/** Returns the header of a page's text. */
export const pageHead = (name: string): string =>
  `\nkubelet ${name}\nWarning: This endpoint is not meant to be machine parseable, has no formatting compatibility guarantees and is for debugging purposes only.\n`;

interface MediaRange {
  readonly type: string;
  readonly parameters: ReadonlyMap<string, string>;
}

const mediaRangesOf = (header: string): readonly MediaRange[] =>
  header.split(',').map((part) => {
    const [type = '', ...rest] = part.split(';').map((word) => word.trim());
    const parameters = new Map(
      rest.map((pair) => {
        const [name = '', value = ''] = pair.split('=');
        return [name, value] as const;
      }),
    );
    return { type: type.toLowerCase(), parameters };
  });

/** Answers a page in the form that the client accepts. Any method is served. */
export function zpage({ kind, text: shown, body }: ZPage, { headers }: ServerRequest): Reply {
  const { accept = '' } = headers;
  const accepted = mediaRangesOf(accept === '' ? '*/*' : accept);
  for (const { type, parameters } of accepted) {
    if (type === '*/*' || type === 'text/*' || type === 'text/plain') return text(200, shown);
    const version = versions.find((one) => one === parameters.get('v'));
    if (type !== 'application/json' || version === undefined) continue;
    if (parameters.get('g') !== group || parameters.get('as') !== kind) continue;
    const name = kind.toLowerCase();
    const old = `299 - "This version of the ${name} endpoint is deprecated. Please use a newer version."`;
    return {
      status: 200,
      headers: {
        'Content-Type': `application/json;g=${group};v=${version};as=${kind}`,
        ...(version === 'v1alpha1' && { Warning: old }),
      },
      body: JSON.stringify({
        kind,
        apiVersion: `${group}/${version}`,
        metadata: { name: 'kubelet' },
        ...body,
      }),
    };
  }
  return notAcceptable(new Set(accepted.map(({ type }) => type)));
}

/** Returns the refusal in the form that the client accepts, by default as indented JSON. */
function notAcceptable(accepted: ReadonlySet<string>): Reply {
  const types = 'application/json, application/yaml, text/plain';
  if (accepted.has('application/yaml'))
    return {
      status: 406,
      headers: { 'Content-Type': 'application/yaml' },
      body: `apiVersion: v1\ncode: 406\nkind: Status\nmessage: 'only the following media types are accepted: application/json, application/yaml,\n  text/plain'\nmetadata: {}\nreason: NotAcceptable\nstatus: Failure\n`,
    };
  const status = {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    message: `only the following media types are accepted: ${types}`,
    reason: 'NotAcceptable',
    code: 406,
  };
  const body = accepted.has('application/json')
    ? `${JSON.stringify(status)}\n`
    : JSON.stringify(status, undefined, 2);
  return { status: 406, headers: { 'Content-Type': 'application/json' }, body };
}

/** Returns `/flagz`: settings by name. */
export function flagzPage(flags: Readonly<Record<string, string>>): ZPage {
  const sorted = Object.entries(flags).sort(([a], [b]) => (a < b ? -1 : 1));
  const lines = sorted.map(([name, value]) => `${name}:${value}\n`);
  return {
    kind: 'Flagz',
    text: `${pageHead('flagz')}${lines.join('')}`,
    body: { flags: Object.fromEntries(sorted) },
  };
}

/** Content of `/statusz`. */
export interface ProgramStatus {
  /** ms since the epoch */
  readonly startedAt: number;
  /** Version of the language runtime; the field is called `goVersion` for clients of the kubelet. */
  readonly runtimeVersion: string;
  /** The Kubernetes version that podtender follows. */
  readonly version: string;
}

const days = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'];
const months = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];
const two = (value: number): string => String(Math.floor(value)).padStart(2, '0');

/** Formats a time as Go's `time.UnixDate` does. */
function unixDate(ms: number): string {
  const at = new Date(ms);
  const day = String(at.getUTCDate()).padStart(2);
  return `${days[at.getUTCDay()] ?? ''} ${months[at.getUTCMonth()] ?? ''} ${day} ${at.toISOString().slice(11, 19)} UTC ${at.getUTCFullYear()}`;
}

/** Returns `/statusz`: start time, version and links to other pages. */
export function statuszPage({ startedAt, runtimeVersion, version }: ProgramStatus, now: number): ZPage {
  const up = Math.max(0, Math.floor((now - startedAt) / 1000));
  const paths = ['/configz', '/debug', '/flagz', '/healthz', '/metrics'];
  const emulation = version.split('.').slice(0, 2).join('.');
  const lines = [
    `Started: ${unixDate(startedAt)}`,
    `Up: ${Math.floor(up / 3600)} hr ${two((up % 3600) / 60)} min ${two(up % 60)} sec`,
    `Go version: ${runtimeVersion}`,
    `Binary version: ${version}`,
    `Emulation version: ${emulation}`,
    `Paths: ${paths.join(' ')}`,
  ];
  return {
    kind: 'Statusz',
    text: `${pageHead('statusz')}\n${lines.join('\n')}\n`,
    body: {
      startTime: rfc3339(startedAt),
      uptimeSeconds: up,
      goVersion: runtimeVersion,
      binaryVersion: version,
      emulationVersion: emulation,
      paths,
    },
  };
}
