import type { ServerResponse } from 'node:http';
import { rfc3339 } from '../../kube/time.ts';
import type { JsonObject } from '../../apimachinery/json.ts';
import { notAcceptable } from '../../apimachinery/status-error.ts';
import type { ApiRequest } from '../request/request.ts';
import { negotiate, wantsPretty } from './negotiate.ts';
import { encode, sendText } from './respond.ts';

/** A page for people that programs can read too. */
interface ZPage {
  readonly kind: 'Flagz' | 'Statusz';
  /** Text below the head. */
  readonly text: string;
  /** Members besides kind, version and metadata. */
  readonly body: JsonObject;
}

const group = 'config.k8s.io';
const component = 'apiserver';
const mediaTypes = ['application/json', 'application/yaml', 'text/plain'];

/** Returns `/flagz`: settings by name. */
export function flagzPage(flags: Readonly<Record<string, string>>): ZPage {
  const sorted = Object.entries(flags).sort(([a], [b]) => (a < b ? -1 : 1));
  return {
    kind: 'Flagz',
    text: sorted.map(([name, value]) => `${name}:${value}\n`).join(''),
    body: { flags: Object.fromEntries(sorted) },
  };
}

/** What `/statusz` reports. */
export interface ProgramStatus {
  /** ms since epoch */
  readonly startedAt: number;
  /** ms since epoch */
  readonly now: number;
  /** Version of the language runtime. */
  readonly runtime: string;
  /** The Kubernetes version: `1.36.2`. */
  readonly version: string;
  /** Paths of other pages. */
  readonly paths: readonly string[];
}

const two = (value: number): string => String(Math.floor(value)).padStart(2, '0');

/** Formats a time as Go's `time.UnixDate` does, in UTC. */
function unixDate(ms: number): string {
  const [day = '', date = '', month = '', year = '', time = ''] = new Date(ms).toUTCString().split(/,? /);
  return `${day} ${month} ${String(Number(date)).padStart(2)} ${time} UTC ${year}`;
}

/** Returns `/statusz`: start, uptime, versions and other pages. */
export function statuszPage({ startedAt, now, runtime, version, paths }: ProgramStatus): ZPage {
  const up = Math.max(0, Math.floor((now - startedAt) / 1000));
  const emulation = version.split('.').slice(0, 2).join('.');
  const lines = [
    `Started: ${unixDate(startedAt)}`,
    `Up: ${Math.floor(up / 3600)} hr ${two((up % 3600) / 60)} min ${two(up % 60)} sec`,
    `Go version: ${runtime}`,
    `Binary version: ${version}`,
    `Emulation version: ${emulation}`,
    `Paths: ${paths.join(' ')}`,
  ];
  return {
    kind: 'Statusz',
    text: `\n${lines.join('\n')}\n`,
    body: {
      startTime: rfc3339(startedAt),
      uptimeSeconds: up,
      goVersion: runtime,
      binaryVersion: version,
      emulationVersion: emulation,
      paths,
    },
  };
}

interface Choice {
  readonly type: string;
  /** Version of the structure; absent: text. */
  readonly version?: string;
}

/** Returns what the first satisfiable clause of `Accept` asks for: text, or the page as an object of a version. */
function choose(accept: string, kind: string): Choice | undefined {
  if (accept.trim() === '') return { type: 'text/plain' };
  for (const clause of accept.split(',')) {
    const [type = '', ...rest] = clause.split(';').map((word) => word.trim());
    const parameters = new Map(rest.map((pair) => pair.split('=', 2) as [string, string]));
    if (['*/*', 'text/*', 'text/plain'].includes(type)) return { type: 'text/plain' };
    const structured = mediaTypes.includes(type) || type === 'application/*';
    const version = parameters.get('v') ?? '';
    if (!structured || !/^v1(alpha1|beta1)$/.test(version)) continue;
    if (parameters.get('g') === group && parameters.get('as') === kind)
      return { type: type === 'application/*' ? 'application/json' : type, version };
  }
  return undefined;
}

/**
 * Answers a page, for any method, as text or as a versioned object. Follows apiserver `handleFlagz` and `handleStatusz`.
 *
 * @throws {StatusError} 406
 */
export async function sendZPage(
  { raw, query }: ApiRequest,
  response: ServerResponse,
  { kind, text, body }: ZPage,
): Promise<void> {
  const name = kind.toLowerCase();
  const choice = choose(raw.headers.accept ?? '', kind);
  if (!choice) throw notAcceptable(mediaTypes);
  const { type, version } = choice;
  if (version === undefined) {
    const head = `\n${component} ${name}\nWarning: This endpoint is not meant to be machine parseable, has no formatting compatibility guarantees and is for debugging purposes only.\n`;
    return sendText(raw, response, { status: 200, type: 'text/plain; charset=utf-8', text: head + text });
  }
  const pretty = wantsPretty(query, raw.headers['user-agent']);
  const representation = negotiate(type, { produces: false, pretty });
  const object = { kind, apiVersion: `${group}/${version}`, metadata: { name: component }, ...body };
  const old = `This version of the ${name} endpoint is deprecated. Please use a newer version.`;
  await sendText(raw, response, {
    status: 200,
    type: `${type};g=${group};v=${version};as=${kind}`,
    text: encode(object, representation),
    ...(version === 'v1alpha1' && { extras: { warnings: [old] } }),
  });
}
