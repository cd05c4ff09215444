import { ownMember } from '../../base/own.ts';
import type { Node, NodeCondition } from '../../kube/types.ts';
import { rfc3339 } from '../../kube/time.ts';
import { conditionEvent, type SetterResult, withStatus } from './setter.ts';

/** Reasons for a node not to be ready; absent: none. */
export interface ReadyFaults {
  readonly runtime?: string | readonly string[];
  readonly network?: string;
  readonly storage?: string;
  readonly shutdown?: string;
  /** Appended to the message, but not a reason. */
  readonly warning?: string;
}

/**
 * Sets Ready to True, or to False with all reasons in the message when there are any or a capacity is unknown (R258).
 *
 * @param localStorage true when the ephemeral storage capacity is required
 */
export function readyCondition(
  node: Node,
  now: number,
  faults: ReadyFaults,
  localStorage: boolean,
): SetterResult {
  const wrong = [
    ...[faults.runtime].flat(),
    faults.network,
    faults.storage,
    faults.shutdown,
    missingCapacity(node, localStorage),
  ];
  const found = [...new Set(wrong.filter((text) => text !== undefined && text !== ''))];
  const ready = found.length === 0;
  const message = ready ? 'kubelet is posting ready status' : aggregate(found as string[]);
  const condition = {
    type: 'Ready',
    status: ready ? 'True' : 'False',
    reason: ready ? 'KubeletReady' : 'KubeletNotReady',
    message: faults.warning === undefined ? message : `${message}. WARNING: ${faults.warning}`,
  };
  const at = (node.status?.conditions ?? []).findIndex(({ type }) => type === 'Ready');
  const before = node.status?.conditions?.[at];
  const changed = before !== undefined && before.status !== condition.status;
  const event = conditionEvent(node, ready ? 'NodeReady' : 'NodeNotReady');
  return { node: put(node, condition, now, at), ...(changed && { events: [event] }) };
}

function missingCapacity(node: Node, localStorage: boolean): string | undefined {
  const required = ['cpu', 'memory', 'pods', ...(localStorage ? ['ephemeral-storage'] : [])];
  const missing = required.filter((name) => ownMember(node.status?.capacity, name) === undefined);
  return missing.length === 0 ? undefined : `missing node capacity for resources: ${missing.join(', ')}`;
}

const aggregate = (texts: readonly string[]): string =>
  texts.length === 1 ? (texts[0] ?? '') : `[${texts.join(', ')}]`;

interface Pressure {
  readonly type: string;
  readonly bad: readonly [reason: string, message: string, event: string];
  readonly good: readonly [reason: string, message: string, event: string];
}

const pressures: Readonly<Record<'memory' | 'disk' | 'pid', Pressure>> = {
  memory: {
    type: 'MemoryPressure',
    bad: [
      'KubeletHasInsufficientMemory',
      'kubelet has insufficient memory available',
      'NodeHasInsufficientMemory',
    ],
    good: [
      'KubeletHasSufficientMemory',
      'kubelet has sufficient memory available',
      'NodeHasSufficientMemory',
    ],
  },
  disk: {
    type: 'DiskPressure',
    bad: ['KubeletHasDiskPressure', 'kubelet has disk pressure', 'NodeHasDiskPressure'],
    good: ['KubeletHasNoDiskPressure', 'kubelet has no disk pressure', 'NodeHasNoDiskPressure'],
  },
  pid: {
    type: 'PIDPressure',
    bad: ['KubeletHasInsufficientPID', 'kubelet has insufficient PID available', 'NodeHasInsufficientPID'],
    good: ['KubeletHasSufficientPID', 'kubelet has sufficient PID available', 'NodeHasSufficientPID'],
  },
};

/** Sets a pressure condition (R259): reason and message change only with the status, the heartbeat always. */
export function pressureCondition(
  node: Node,
  now: number,
  kind: keyof typeof pressures,
  underPressure: boolean,
): SetterResult {
  const { type, bad, good } = pressures[kind];
  const status = underPressure ? 'True' : 'False';
  const at = (node.status?.conditions ?? []).findLastIndex((condition) => condition.type === type);
  const before = node.status?.conditions?.[at];
  const [reason, message, event] = underPressure ? bad : good;
  if (before?.status === status) {
    const { reason: previousReason, message: previousMessage } = before;
    const same = {
      type,
      status,
      ...(previousReason !== undefined && { reason: previousReason }),
      ...(previousMessage !== undefined && { message: previousMessage }),
    };
    return { node: put(node, same, now, at) };
  }
  return {
    node: put(node, { type, status, reason, message }, now, at),
    events: [conditionEvent(node, event)],
  };
}

/** Returns the node with `condition` at `index`, or at the end; the transition time is kept while the status is unchanged. */
function put(
  node: Node,
  { type, status, ...rest }: Omit<NodeCondition, 'lastHeartbeatTime' | 'lastTransitionTime'>,
  now: number,
  index: number,
): Node {
  const conditions = node.status?.conditions ?? [];
  const before = conditions[index];
  const at = rfc3339(now);
  const since = before?.status === status ? before.lastTransitionTime : at;
  const next: NodeCondition = {
    type,
    status,
    lastHeartbeatTime: at,
    ...(since !== undefined && { lastTransitionTime: since }),
    ...rest,
  };
  return withStatus(node, { conditions: before ? conditions.with(index, next) : [...conditions, next] });
}
