import { microTimeText } from '../../kube/time.ts';
import { messageOf } from '../../base/errors.ts';
import {
  type JsonObject,
  nameOf,
  namespaceOf,
  objectAt,
  objectsAt,
  valueAt,
} from '../../apimachinery/json.ts';
import { withCondition } from '../../apimachinery/conditions.ts';
import { builtIn } from '../../apimachinery/kinds.ts';
import { seconds } from '../../apimachinery/times.ts';
import { type ControllerDeps, systemContext } from './controllers.ts';

const component = 'default-scheduler';

/** What an Event of the scheduler says. */
export interface SchedulingEvent {
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
}

/** Writes an Event about a pod as the scheduler. */
export function reportEvent(deps: ControllerDeps, pod: JsonObject, message: SchedulingEvent): void {
  const { namespace, name, uid } = objectAt(pod, 'metadata');
  const stamp = (BigInt(deps.clock.now()) * 1_000_000n).toString(16);
  const event = {
    metadata: { name: `${nameOf(pod)}.${stamp}`, namespace },
    involvedObject: { kind: 'Pod', apiVersion: 'v1', namespace, name, uid },
    ...message,
    source: {},
    reportingComponent: component,
    reportingInstance: component,
    action: message.type === 'Normal' ? 'Binding' : 'Scheduling',
    eventTime: microTimeText(deps.clock.now()),
    firstTimestamp: null,
    lastTimestamp: null,
  };
  const writer = { manager: component, operation: 'Update', apiVersion: 'v1' } as const;
  try {
    deps.resources
      .registry(builtIn('events'))
      .create(namespaceOf(pod), event, writer, systemContext(deps.world));
  } catch (reason) {
    deps.logger.warn('cannot write scheduler event', { err: messageOf(reason) });
  }
}

/**
 * Returns the conditions of a pod that fits on no node: `PodScheduled` is False, with the reason `Unschedulable`. The time of the transition
 * stays while the status does; undefined: they say so already.
 */
export function unschedulableConditions(
  pod: JsonObject,
  message: string,
  now: number,
): readonly JsonObject[] | undefined {
  const conditions = objectsAt(objectAt(pod, 'status'), 'conditions');
  const reason = 'Unschedulable';
  const stands = conditions.some(
    (one) =>
      one['type'] === 'PodScheduled' &&
      one['status'] === 'False' &&
      one['reason'] === reason &&
      one['message'] === message,
  );
  if (stands) return undefined;
  const generation = valueAt(pod, 'metadata', 'generation');
  return withCondition(conditions, {
    type: 'PodScheduled',
    ...(generation !== undefined && { observedGeneration: generation }),
    status: 'False',
    lastProbeTime: null,
    lastTransitionTime: seconds(now),
    reason,
    message,
  });
}

/** Writes into a pod's status that it fits on no node. */
export function reportUnschedulable(deps: ControllerDeps, pod: JsonObject, message: string): void {
  const conditions = unschedulableConditions(pod, message, deps.clock.now());
  if (conditions === undefined) return;
  const place = { namespace: namespaceOf(pod), name: nameOf(pod), subresource: 'status' };
  const writer = {
    manager: 'kube-scheduler',
    operation: 'Update',
    apiVersion: 'v1',
    subresource: 'status',
  } as const;
  try {
    deps.resources
      .registry(builtIn('pods'))
      .update(
        place,
        (standing) => ({ ...standing, status: { ...objectAt(standing, 'status'), conditions } }),
        writer,
        systemContext(deps.world),
      );
  } catch (reason) {
    deps.logger.warn('cannot write the condition of a pod', { err: messageOf(reason) });
  }
}
