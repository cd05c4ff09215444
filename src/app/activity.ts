import { tableOf } from '../base/own.ts';
import type { Informer } from '../api/cache/informer.ts';
import type { RawEvent } from '../api/events/event-correlator.ts';
import type { LeveledLogger } from '../base/pino-logger.ts';
import type { LogFields } from '../base/logger.ts';
import { keyOf, uidOf } from '../kube/names.ts';
import type { ContainerStatus, Pod } from '../kube/types.ts';

/** An event on the node, as a line of the log. */
export interface Activity {
  readonly level: 'info' | 'warn';
  readonly message: string;
  readonly fields: LogFields;
}

const info = (message: string, fields: LogFields): Activity => ({ level: 'info', message, fields });

/** Returns what changed in a pod's status, as log lines. Pure. */
export function podActivity(before: Pod | undefined, after: Pod): readonly Activity[] {
  const about = { pod: keyOf(after), uid: uidOf(after) };
  if (!before) return [info('pod assigned to this node', about)];
  return [
    ...deletion(before, after, about),
    ...restarts(before, after, about),
    ...phaseChange(before, after, about),
    ...readiness(before, after, about),
  ];
}

/** Returns the log line of a removed pod. */
export const podGone = (pod: Pod): Activity => info('pod removed', { pod: keyOf(pod), uid: uidOf(pod) });

function deletion(before: Pod, after: Pod, about: LogFields): readonly Activity[] {
  const { deletionTimestamp, deletionGracePeriodSeconds } = after.metadata ?? {};
  if (deletionTimestamp === undefined || before.metadata?.deletionTimestamp !== undefined) return [];
  return [info('pod is being deleted', { ...about, gracePeriodSeconds: deletionGracePeriodSeconds })];
}

function phaseChange(before: Pod, after: Pod, about: LogFields): readonly Activity[] {
  const { phase = 'Pending', reason, message } = after.status ?? {};
  if (phase === (before.status?.phase ?? 'Pending')) return [];
  const why = {
    ...about,
    ...(reason !== undefined && { reason }),
    ...(message !== undefined && { problem: message }),
  };
  switch (phase) {
    case 'Running':
      return [info('pod started', about)];
    case 'Succeeded':
      return [info('pod succeeded', about)];
    case 'Failed':
      return [{ level: 'warn', message: reason === 'Evicted' ? 'pod evicted' : 'pod failed', fields: why }];
    default:
      return [];
  }
}

function readiness(before: Pod, after: Pod, about: LogFields): readonly Activity[] {
  const readyOf = ({ status }: Pod): string | undefined =>
    status?.conditions?.find(({ type }) => type === 'Ready')?.status;
  const [was, is] = [readyOf(before), readyOf(after)];
  if (is === was) return [];
  if (is === 'True') return [info('pod is ready', about)];
  // a pod that is being deleted or has ended is not ready for that reason
  const runs = after.status?.phase === 'Running' && after.metadata?.deletionTimestamp === undefined;
  return was === 'True' && runs ? [info('pod is not ready', about)] : [];
}

function restarts(before: Pod, after: Pod, about: LogFields): readonly Activity[] {
  const counts = new Map(containersOf(before).map(({ name, restartCount }) => [name, restartCount]));
  return containersOf(after).flatMap(({ name, restartCount, lastState }) => {
    if (restartCount <= (counts.get(name) ?? 0)) return [];
    const { exitCode, reason } = lastState?.terminated ?? {};
    const ended = { ...(exitCode !== undefined && { exitCode }), ...(reason !== undefined && { reason }) };
    return [info('container restarted', { ...about, container: name, restarts: restartCount, ...ended })];
  });
}

const containersOf = ({ status }: Pod): readonly ContainerStatus[] => [
  ...(status?.initContainerStatuses ?? []),
  ...(status?.containerStatuses ?? []),
];

/** Log messages by reason of the Event; Events of other reasons are logged with their reason. */
const eventWords: Readonly<Record<string, string>> = tableOf({
  BackOff: 'container restart is delayed',
  Created: 'container created',
  Evicted: 'pod is evicted',
  ExceededGracePeriod: 'pod did not end within its grace period',
  Failed: 'container could not be started',
  FailedCreatePodSandBox: 'pod sandbox could not be created',
  FailedMount: 'volume could not be mounted',
  FailedPostStartHook: 'postStart hook failed',
  FailedPreStopHook: 'preStop hook failed',
  Killing: 'container is stopped',
  NodeNotReady: 'node is not ready',
  NodeReady: 'node is ready',
  Preempting: 'pod is preempted',
  ProbeWarning: 'probe succeeded with a warning',
  Pulled: 'image pulled',
  Pulling: 'image is being pulled',
  Started: 'container started',
  Starting: 'agent started',
  Unhealthy: 'probe failed',
});

/** Returns a reported Event as a log line. Pure. */
export function activityOf({ object, type, reason, message, fieldPath }: RawEvent): Activity {
  const { kind = '', metadata = {} } = object;
  const name = metadata.namespace ? `${metadata.namespace}/${metadata.name ?? ''}` : (metadata.name ?? '');
  const container = /\{(.+)\}$/.exec(fieldPath)?.[1];
  const words = eventWords[reason];
  return {
    // An Event of type Warning concerns a pod; its owner decides whether to act.
    level: 'info',
    message: words ?? (type === 'Warning' ? 'warning event' : 'event'),
    fields: {
      [kind.toLowerCase() || 'object']: name,
      ...(container !== undefined && { container }),
      ...(words === undefined && { reason }),
      detail: message.replaceAll(/\s+/g, ' ').trim(),
    },
  };
}

const isQuiet = ({ level }: LeveledLogger): boolean => level !== 'info' && level !== 'debug';

/** Logs an Event at level `info`. */
export function eventActivity(logger: LeveledLogger, event: RawEvent): void {
  if (!isQuiet(logger)) write(logger, activityOf(event));
}

/** Logs what happens to the pods of a node from now on. */
export function activityHandler(logger: LeveledLogger, pods: Pick<Informer<Pod>, 'addHandler'>): void {
  const writeAll = (read: () => readonly Activity[]): void => {
    if (isQuiet(logger)) return;
    for (const activity of read()) write(logger, activity);
  };
  pods.addHandler({
    added: (pod) => {
      writeAll(() => podActivity(undefined, pod));
    },
    updated: (old, pod) => {
      writeAll(() => podActivity(old, pod));
    },
    deleted: (pod) => {
      writeAll(() => [podGone(pod)]);
    },
  });
}

function write(logger: LeveledLogger, { level, message, fields }: Activity): void {
  logger[level](message, fields);
}
