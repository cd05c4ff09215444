import { ownMember, tableOf } from '../../base/own.ts';
import {
  type JsonObject,
  nameOf,
  objectAt,
  objectsAt,
  stringAt,
  textOf,
  valueAt,
} from '../../apimachinery/json.ts';
import { ageOf, type Column, column } from './table-printer.ts';

export const podColumns: readonly Column[] = [
  column('Name'),
  column('Ready'),
  column('Status'),
  column('Restarts'),
  column('Age'),
  column('IP', 1),
  column('Node', 1),
  column('Nominated Node', 1),
  column('Readiness Gates', 1),
];

interface Summary {
  reason: string;
  ready: number;
  restarts: number;
  /** ms of the last restart */
  restartedAt: number;
}

const state = (
  status: JsonObject | undefined,
  key: 'state' | 'lastState',
  kind: string,
): JsonObject | undefined => {
  const found = ownMember(objectAt(status, key), kind);
  return found === undefined ? undefined : (found as JsonObject);
};

const exitText = (terminated: JsonObject): string => {
  const reason = stringAt(terminated, 'reason');
  if (reason) return reason;
  return Number(terminated['signal'] ?? 0) !== 0
    ? `Signal:${String(terminated['signal'])}`
    : `ExitCode:${textOf(terminated['exitCode'] ?? 0)}`;
};

const isSidecar = (container: JsonObject | undefined): boolean => container?.['restartPolicy'] === 'Always';

function restarted(status: JsonObject, summary: Summary): void {
  summary.restarts += Number(status['restartCount'] ?? 0);
  const finished = stringAt(state(status, 'lastState', 'terminated'), 'finishedAt');
  if (finished) summary.restartedAt = Math.max(summary.restartedAt, Date.parse(finished));
}

/** Summarizes init containers first: the first incomplete one determines the status. */
function initializing(pod: JsonObject, summary: Summary): boolean {
  const specs = objectsAt(objectAt(pod, 'spec'), 'initContainers');
  const statuses = objectsAt(objectAt(pod, 'status'), 'initContainerStatuses');
  for (const [i, status] of statuses.entries()) {
    const container = specs.find((one) => one['name'] === status['name']);
    restarted(status, summary);
    const terminated = state(status, 'state', 'terminated');
    if (terminated && Number(terminated['exitCode'] ?? 0) === 0) continue;
    if (isSidecar(container) && status['started'] === true) {
      if (status['ready'] === true) summary.ready++;
      continue;
    }
    const waiting = stringAt(state(status, 'state', 'waiting'), 'reason');
    if (terminated) summary.reason = `Init:${exitText(terminated)}`;
    else if (waiting && waiting !== 'PodInitializing') summary.reason = `Init:${waiting}`;
    else summary.reason = `Init:${i}/${specs.length}`;
    return true;
  }
  return false;
}

function running(pod: JsonObject, summary: Summary): void {
  const statuses = objectsAt(objectAt(pod, 'status'), 'containerStatuses');
  let hasRunning = false;
  let failure = '';
  for (const status of [...statuses].reverse()) {
    restarted(status, summary);
    const waiting = stringAt(state(status, 'state', 'waiting'), 'reason');
    const terminated = state(status, 'state', 'terminated');
    if (waiting) summary.reason = waiting;
    else if (terminated) {
      summary.reason = exitText(terminated);
      if (Number(terminated['exitCode'] ?? 0) !== 0) failure = summary.reason;
    } else if (status['ready'] === true && state(status, 'state', 'running')) {
      hasRunning = true;
      summary.ready++;
    }
  }
  if (summary.reason === 'Completed') summary.reason = afterAll(hasRunning, isReady(pod), failure);
}

/** Returns the status of a pod whose last container has completed. */
const afterAll = (hasRunning: boolean, ready: boolean, failure: string): string => {
  if (hasRunning && ready) return 'Running';
  return failure || (hasRunning ? 'NotReady' : 'Completed');
};

const conditionsOf = (pod: JsonObject): readonly JsonObject[] =>
  objectsAt(objectAt(pod, 'status'), 'conditions');
const isReady = (pod: JsonObject): boolean =>
  conditionsOf(pod).some((condition) => condition['type'] === 'Ready' && condition['status'] === 'True');

function finalReason(pod: JsonObject, summary: Summary): string {
  if (valueAt(pod, 'metadata', 'deletionTimestamp') === undefined) return summary.reason;
  if (valueAt(pod, 'status', 'reason') === 'NodeLost') return 'Unknown';
  const phase = valueAt(pod, 'status', 'phase');
  return phase === 'Succeeded' || phase === 'Failed' ? summary.reason : 'Terminating';
}

function gates(pod: JsonObject): string {
  const readinessGates = objectsAt(objectAt(pod, 'spec'), 'readinessGates');
  if (readinessGates.length === 0) return '<none>';
  const met = readinessGates.filter((gate) =>
    conditionsOf(pod).some((c) => c['type'] === gate['conditionType'] && c['status'] === 'True'),
  );
  return `${met.length}/${readinessGates.length}`;
}

function summarize(pod: JsonObject): Summary {
  const status = objectAt(pod, 'status');
  const summary: Summary = {
    reason: stringAt(status, 'reason') || stringAt(status, 'phase'),
    ready: 0,
    restarts: 0,
    restartedAt: 0,
  };
  if (conditionsOf(pod).some((c) => c['type'] === 'PodScheduled' && c['reason'] === 'SchedulingGated'))
    summary.reason = 'SchedulingGated';
  const specs = objectsAt(objectAt(pod, 'spec'), 'initContainers');
  if (!initializing(pod, summary) || (specs.length > 0 && isInitialized(pod))) {
    const { restarts, restartedAt } = sidecarRestarts(pod);
    Object.assign(summary, { restarts, restartedAt });
    running(pod, summary);
  }
  return summary;
}

/** Counts restarts of sidecars, as far as they had been reached when the pod started. */
function sidecarRestarts(pod: JsonObject): Summary {
  const summary: Summary = { reason: '', ready: 0, restarts: 0, restartedAt: 0 };
  const specs = objectsAt(objectAt(pod, 'spec'), 'initContainers');
  for (const status of objectsAt(objectAt(pod, 'status'), 'initContainerStatuses'))
    if (isSidecar(specs.find((one) => one['name'] === status['name']))) restarted(status, summary);
  return summary;
}
const isInitialized = (pod: JsonObject): boolean =>
  conditionsOf(pod).some((c) => c['type'] === 'Initialized' && c['status'] === 'True');

/** Returns the cells of one pod, as `kubectl get pods -o wide` shows them. */
export function podCells(pod: JsonObject, now: number): readonly unknown[] {
  const spec = objectAt(pod, 'spec');
  const status = objectAt(pod, 'status');
  const summary = summarize(pod);
  const total =
    objectsAt(spec, 'containers').length + objectsAt(spec, 'initContainers').filter(isSidecar).length;
  const restarts =
    summary.restarts !== 0 && summary.restartedAt > 0
      ? `${summary.restarts} (${ageOf(new Date(summary.restartedAt).toISOString(), now)} ago)`
      : String(summary.restarts);
  return [
    nameOf(pod),
    `${summary.ready}/${total}`,
    finalReason(pod, summary),
    restarts,
    ageOf(valueAt(pod, 'metadata', 'creationTimestamp'), now),
    stringAt(objectsAt(status, 'podIPs')[0], 'ip') || stringAt(status, 'podIP') || '<none>',
    stringAt(spec, 'nodeName') || '<none>',
    stringAt(status, 'nominatedNodeName') || '<none>',
    gates(pod),
  ];
}

const finished: Readonly<Record<string, string>> = tableOf({
  Succeeded: 'The pod has completed successfully.',
  Failed: 'The pod failed.',
});

/** Returns the condition of a row whose pod has ended; kubectl greys out or hides such rows. */
export function podConditions(pod: JsonObject): readonly JsonObject[] | undefined {
  const reason = stringAt(objectAt(pod, 'status'), 'phase');
  const message = finished[reason];
  return message === undefined ? undefined : [{ type: 'Completed', status: 'True', reason, message }];
}
