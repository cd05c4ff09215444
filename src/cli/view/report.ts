import type { Event } from '../../kube/types.ts';
import { phaseText } from './table.ts';
import type { PodRow } from './view-model.ts';

/** A message about the whole run. */
export type Notice =
  | {
      readonly type: 'started';
      /** Absent: the cluster is reached with in-cluster credentials. */
      readonly kubeconfig?: string;
      readonly server: string;
      readonly node: string;
      /** Set when the node has joined an existing cluster. */
      readonly joined?: true;
    }
  /** A step of the start that may take long. */
  | { readonly type: 'progress'; readonly message: string }
  /** A manifest, directory or URL that cannot be used; the others are processed. */
  | { readonly type: 'problem'; readonly source: string; readonly message: string }
  | { readonly type: 'stopping'; readonly pods: readonly string[] }
  | { readonly type: 'stopped'; readonly leftRunning: boolean }
  | { readonly type: 'error'; readonly message: string };

/** Returns a notice as one line of JSON; `at` is its time in RFC 3339. */
export function jsonNotice(notice: Notice, now: number): string {
  return JSON.stringify({ ...notice, at: new Date(now).toISOString() });
}

/** One pod before and after a change; an absent row is no pod. */
export interface RowChange {
  readonly key: string;
  readonly before: PodRow | undefined;
  readonly after: PodRow | undefined;
}

/** Returns a pod's change as a line of text or JSON; undefined when no fact changed. Ages and events alone are not changes. */
export function changeLine(
  { key, before, after }: RowChange,
  now: number,
  json: boolean,
): string | undefined {
  if (after) {
    if (before && sameFacts(before, after)) return undefined;
    return json ? podJson(after, now) : podLine(after, now);
  }
  if (!before) return undefined;
  if (json) return JSON.stringify({ type: 'gone', pod: key, at: new Date(now).toISOString() });
  return `${clockText(now)} ${key}: gone`;
}

/** Formats a Kubernetes event as a line. */
export function eventLine(event: Event, now: number, json: boolean): string {
  const { namespace = '', name = '', kind = '' } = event.involvedObject;
  const object = `${kind.toLowerCase()} ${namespace === '' ? name : `${namespace}/${name}`}`;
  const { type = 'Normal', reason = '', message = '' } = event;
  if (json) {
    const about = { kind, namespace, name };
    return JSON.stringify({
      type: 'event',
      about,
      level: type,
      reason,
      message,
      at: new Date(now).toISOString(),
    });
  }
  return `${clockText(now)} ${object}: ${reason}: ${message.replaceAll(/\s+/g, ' ').trim()}`;
}

/** Returns the lines after a start: what runs, and commands to try first. */
export function welcomeLines({
  kubeconfig,
  server,
  node,
  joined,
}: Extract<Notice, { type: 'started' }>): readonly string[] {
  if (joined === true) return [`podtender runs node ${node} of the cluster at ${server}`, ''];
  return [
    `podtender runs node ${node}, API server ${server}`,
    `kubeconfig: ${kubeconfig ?? ''}`,
    '',
    `  export KUBECONFIG=${kubeconfig ?? ''}`,
    '  kubectl get pods -A -w',
    `  kubectl describe node ${node}`,
    '  kubectl apply -f pod.yaml',
    '',
  ];
}

/** Returns the same as a short header above the live table. */
export function headerLines({
  kubeconfig,
  server,
  node,
  joined,
}: Extract<Notice, { type: 'started' }>): readonly string[] {
  if (joined === true) return [`podtender: node ${node} of the cluster at ${server}`];
  return [`podtender: node ${node}, API server ${server}`, `export KUBECONFIG=${kubeconfig ?? ''}`];
}

/** Returns the progress line of a stop. */
export function stoppingLine(pods: readonly string[], forced: boolean): string {
  if (pods.length === 0) return 'Stopping: no pod runs any more.';
  const names = pods.length <= 3 ? `: ${pods.join(', ')}` : '';
  const count = pods.length === 1 ? '1 pod still runs' : `${pods.length} pods still run`;
  return forced ? `Killing: ${count}${names}.` : `Stopping: ${count}${names}. Ctrl-C again kills at once.`;
}

function sameFacts(a: PodRow, b: PodRow): boolean {
  return a.phase === b.phase && a.detail === b.detail && a.ready === b.ready && a.restarts === b.restarts;
}

function podLine(row: PodRow, now: number): string {
  return `${clockText(now)} ${row.key}: ${phaseText(row)}, ready ${row.ready}, restarts ${row.restarts}`;
}

function podJson({ key, phase, detail, ready, restarts }: PodRow, now: number): string {
  return JSON.stringify({
    type: 'pod',
    pod: key,
    phase,
    detail,
    ready,
    restarts,
    at: new Date(now).toISOString(),
  });
}

function clockText(now: number): string {
  return new Date(now).toISOString().slice(11, 19);
}
