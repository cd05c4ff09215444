import type { Pod, PodStatus } from '../../../src/kube/types.ts';

/** A pod's life as a client sees it: its distinct statuses, then `deleted`. */
export interface PodLife {
  /** By order of creation and name: `p`, `p#2`. */
  readonly name: string;
  readonly states: readonly State[];
}

/** A status by leaf, e.g. `.containerStatuses[0].ready` → `true`, with what differs between any two runs made equal. */
export type State = Readonly<Record<string, string>>;

/** Whether containers tell whom they run as; containerd does since 2.0. */
export const tellsUsers = (lives: readonly PodLife[]): boolean =>
  lives.some(({ states }) => states.some((state) => Object.keys(state).some(isOfUser)));

/** The lives as a runtime shows them that does not tell whom containers run as. */
export const withoutUsers = (lives: readonly PodLife[]): readonly PodLife[] =>
  lives.map(({ name, states }) => ({
    name,
    states: states.map((state) =>
      Object.fromEntries(Object.entries(state).filter(([key]) => !isOfUser(key))),
    ),
  }));

const isOfUser = (path: string): boolean => /Statuses\[\d+\]\.user\b/.test(path);

export interface PodChange {
  readonly type: string;
  readonly object: Pod;
}

/** The lives of all pods in a watch's changes. */
export function livesOf(changes: readonly PodChange[]): readonly PodLife[] {
  const lives = new Map<string, { name: string; states: State[]; ids: Map<string, string> }>();
  const seen = new Map<string, number>();
  for (const { type, object } of changes) {
    const { uid = '', name = '' } = object.metadata ?? {};
    const times = seen.get(name) ?? 0;
    if (!lives.has(uid)) {
      seen.set(name, times + 1);
      lives.set(uid, { name: times === 0 ? name : `${name}#${times + 1}`, states: [], ids: new Map() });
    }
    const life = lives.get(uid);
    if (!life) continue;
    const state = type === 'DELETED' ? { deleted: 'true' } : stateOf(object.status ?? {}, life.ids);
    const last = life.states.at(-1);
    if (!last || !sameState(last, state)) life.states.push(state);
  }
  return [...lives.values()].map(({ name, states }) => ({ name, states }));
}

/** @param ids container ids met so far; each is told by its rank */
export function stateOf(status: PodStatus, ids: Map<string, string>): State {
  const leaves: Record<string, string> = {};
  // the pod's own resources depend on the cgroup version
  walk({ ...status, resources: undefined }, '', leaves, ids);
  return leaves;
}

export const sameState = (a: State, b: State): boolean => {
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length && keys.every((key) => a[key] === b[key]);
};

function walk(value: unknown, path: string, leaves: Record<string, string>, ids: Map<string, string>): void {
  if (value === undefined) return;
  if (typeof value !== 'object' || value === null) {
    leaves[path] = leafText(path, value, ids);
    return;
  }
  const entries = Object.entries(value);
  if (entries.length === 0) leaves[path] = Array.isArray(value) ? '[]' : '{}';
  for (const [key, inner] of entries)
    walk(inner, Array.isArray(value) ? `${path}[${key}]` : `${path}.${key}`, leaves, ids);
}

function leafText(path: string, value: unknown, ids: Map<string, string>): string {
  if (typeof value !== 'string') return JSON.stringify(value);
  if (value === '') return '""';
  if (path.endsWith('.imageID')) return '<image>';
  if (/\.(podIP|hostIP|ip)$/.test(path)) return '<ip>';
  return plainText(value).replace(/(?:\$cid\d+|\b[0-9a-f]{64}\b)/g, (id) => {
    if (!ids.has(id)) ids.set(id, `<id${ids.size + 1}>`);
    return ids.get(id) ?? '';
  });
}

/** A text without times, addresses, random names and what the runtime's own version put in. */
export const plainText = (text: string): string =>
  text
    .replace(/\$t\d+|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g, '<t>')
    .replace(/kube-api-access-(?:\$kaa\d+|[a-z0-9]{5})/g, 'kube-api-access-<random>')
    .replace(/\$uid\d+|\b[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\b/g, '<uid>')
    .replace(/\$podip\d+|\$hostip|\b10\.\d+\.\d+\.\d+\b/g, '<ip>')
    .replace(/\b(?:\d+m)?\d+(?:\.\d+)?(?:ms|µs|s)\b(?! restarting)|\$dur/g, '<span>')
    .replace(/failed to resolve (?:reference "[^"]*"|image)/, 'failed to resolve <image>')
    .replace(/Image size: (?:\d+|\$n) bytes/, 'Image size: <n> bytes')
    // containerd 1.6 asks registries of this machine without TLS
    .replace(/"https?:\/\/(localhost[^"]*": dial tcp 127\.0\.0\.1):(?:80|443):/, '"<scheme>://$1:<port>:')
    .replace(
      /(?:failed to create containerd task|OCI runtime|(?<=failed to exec in container: )).*/s,
      '<runtime>',
    );
