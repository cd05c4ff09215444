import { rfc3339 } from './time.ts';

/** A page for people that programs can read too: as text or as a versioned object. Follows `component-base/zpages`. */
export interface ZPage {
  readonly kind: 'Flagz' | 'Statusz';
  /** The component that serves it: `kubelet`. */
  readonly component: string;
  /** The whole text. */
  readonly text: string;
  /** Members besides kind, version and metadata. */
  readonly body: Readonly<Record<string, unknown>>;
}

/** What `/statusz` reports. */
export interface ProgramStatus {
  /** ms since epoch */
  readonly startedAt: number;
  /** Version of the language runtime; the field is called `goVersion` for clients of Kubernetes' components. */
  readonly runtimeVersion: string;
  /** The Kubernetes version that podtender follows: `1.36.2`. */
  readonly version: string;
}

/** Media types in which pages are served. */
export const zpageTypes: readonly string[] = ['application/json', 'application/yaml', 'text/plain'];

const group = 'config.k8s.io';

/** Returns a page's name in its path: `flagz`. */
const nameOf = (kind: ZPage['kind']): string => kind.toLowerCase();

const head = (component: string, kind: ZPage['kind']): string =>
  `\n${component} ${nameOf(kind)}\nWarning: This endpoint is not meant to be machine parseable, has no formatting compatibility guarantees and is for debugging purposes only.\n`;

/** Returns `/flagz`: settings by name. */
export function flagzPage(component: string, flags: Readonly<Record<string, string>>): ZPage {
  const kind = 'Flagz';
  const sorted = Object.entries(flags).sort(([a], [b]) => (a < b ? -1 : 1));
  const lines = sorted.map(([name, value]) => `${name}:${value}\n`);
  const text = head(component, kind) + lines.join('');
  return { kind, component, text, body: { flags: Object.fromEntries(sorted) } };
}

const two = (value: number): string => String(Math.floor(value)).padStart(2, '0');

/** Formats a time as Go's `time.UnixDate` does, in UTC. */
function unixDate(ms: number): string {
  const [day = '', date = '', month = '', year = '', time = ''] = new Date(ms).toUTCString().split(/,? /);
  return `${day} ${month} ${String(Number(date)).padStart(2)} ${time} UTC ${year}`;
}

/** Returns `/statusz`: start, uptime, versions and the paths of other pages. */
export function statuszPage(
  component: string,
  { startedAt, runtimeVersion, version }: ProgramStatus,
  paths: readonly string[],
  now: number,
): ZPage {
  const kind = 'Statusz';
  const up = Math.max(0, Math.floor((now - startedAt) / 1000));
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
    kind,
    component,
    text: `${head(component, kind)}\n${lines.join('\n')}\n`,
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

/** A form of a page that a client accepts. */
export interface ZPageForm {
  /** `text/plain`, or the media type of the object: `application/json`. */
  readonly type: string;
  /** Version of the object; absent: text. */
  readonly version?: 'v1alpha1' | 'v1beta1';
}

const versionOf = (text: string | undefined): ZPageForm['version'] =>
  text === 'v1beta1' || text === 'v1alpha1' ? text : undefined;

/**
 * Returns the form that the first satisfiable clause of `Accept` names; undefined when there is none.
 *
 * @param types media types of the object
 */
export function acceptedForm(
  accept: string,
  kind: ZPage['kind'],
  types: readonly string[],
): ZPageForm | undefined {
  if (accept.trim() === '') return { type: 'text/plain' };
  for (const clause of accept.split(',')) {
    const [range = '', ...rest] = clause.split(';').map((word) => word.trim());
    const type = range.toLowerCase();
    if (['*/*', 'text/*', 'text/plain'].includes(type)) return { type: 'text/plain' };
    const parameters = new Map(rest.map((pair) => pair.split('=', 2) as [string, string]));
    const version = versionOf(parameters.get('v'));
    if (version === undefined || !(types.includes(type) || type === 'application/*')) continue;
    if (parameters.get('g') === group && parameters.get('as') === kind)
      return { type: type === 'application/*' ? 'application/json' : type, version };
  }
  return undefined;
}

/** A page as an object of a version. */
export interface ZPageObject {
  readonly contentType: string;
  readonly object: Readonly<Record<string, unknown>>;
  /** What a client is warned of when the version is deprecated. */
  readonly warning?: string;
}

/** Returns a page as an object of a version. */
export function zpageObject({ kind, component, body }: ZPage, { type, version }: ZPageForm): ZPageObject {
  return {
    contentType: `${type};g=${group};v=${version ?? ''};as=${kind}`,
    object: { kind, apiVersion: `${group}/${version ?? ''}`, metadata: { name: component }, ...body },
    ...(version === 'v1alpha1' && {
      warning: `This version of the ${nameOf(kind)} endpoint is deprecated. Please use a newer version.`,
    }),
  };
}
