import { seconds } from '../../apimachinery/times.ts';
import { createdMs } from '../workload/objects.ts';
import type { Condition, Node } from '../workload/types.ts';

/** How long a node may be silent before its conditions turn Unknown (`--node-monitor-grace-period`), ms. */
export const graceMs = 50_000;
/** The same for a node that has not posted a Ready condition yet (`--node-startup-grace-period`), ms. */
export const startupGraceMs = 60_000;

/** A condition of a node. */
export type NodeCondition = NonNullable<NonNullable<Node['status']>['conditions']>[number];

/** What was last seen of a node. Times are this process's: those of the node are only compared with each other. */
export interface NodeHealth {
  /** When the node has last shown that it lives, ms. */
  readonly aliveAt: number;
  /** The heartbeat of its Ready condition; undefined without one. */
  readonly heartbeat: string | undefined;
  readonly hasReady: boolean;
  /** The renewal of its lease. */
  readonly renewal: string | undefined;
}

/** What is known of a node at one look. */
export interface NodeView {
  readonly node: Node;
  /** When its lease was renewed; undefined without a lease. */
  readonly renewal: string | undefined;
  readonly now: number;
}

/** The outcome of a look at a node. */
export interface HealthReport {
  readonly health: NodeHealth;
  /** The status of Ready that the node has; `Unknown` without one. */
  readonly observed: string;
  /** The status of Ready after this look; undefined without one. */
  readonly current: string | undefined;
  /** The conditions to write; undefined: they stay. */
  readonly conditions?: readonly NodeCondition[];
}

export const readyOf = ({ status }: Node): NodeCondition | undefined =>
  status?.conditions?.find(({ type }) => type === 'Ready');

function seen(health: NodeHealth | undefined, { node, renewal, now }: NodeView): NodeHealth {
  const ready = readyOf(node);
  const next = { hasReady: ready !== undefined, heartbeat: ready?.lastHeartbeatTime };
  const isAlive = ready
    ? !health?.hasReady || health.heartbeat !== ready.lastHeartbeatTime
    : health?.hasReady === true;
  const before = health ?? { aliveAt: createdMs(node), renewal: undefined };
  const isRenewed =
    renewal !== undefined &&
    (before.renewal === undefined || Date.parse(before.renewal) < Date.parse(renewal));
  return {
    ...next,
    aliveAt: isAlive || isRenewed ? now : before.aliveAt,
    renewal: isRenewed ? renewal : before.renewal,
  };
}

/** Conditions that a kubelet posts. NetworkUnavailable is another's. */
const kubeletConditions = ['Ready', 'MemoryPressure', 'DiskPressure', 'PIDPressure'];

function unknownConditions(node: Node, now: number): NodeCondition[] {
  const time = seconds(now);
  const conditions = [...(node.status?.conditions ?? [])];
  for (const type of kubeletConditions) {
    const at = conditions.findIndex((one) => one.type === type);
    const before = conditions[at];
    if (!before) {
      const created = node.metadata?.creationTimestamp;
      conditions.push({
        type,
        status: 'Unknown',
        ...(created !== undefined && { lastHeartbeatTime: created }),
        lastTransitionTime: time,
        reason: 'NodeStatusNeverUpdated',
        message: 'Kubelet never posted node status.',
      });
    } else if (before.status !== 'Unknown')
      conditions[at] = {
        ...before,
        status: 'Unknown',
        lastTransitionTime: time,
        reason: 'NodeStatusUnknown',
        message: 'Kubelet stopped posting node status.',
      };
  }
  return conditions;
}

/**
 * Judges a node by its Ready condition and its lease: once both have been silent for the grace period, its conditions turn Unknown. A node
 * that has a Ready condition when it is first seen counts as alive at that time (`tryUpdateNodeHealth`).
 */
export function judge(before: NodeHealth | undefined, view: NodeView): HealthReport {
  const { node, now } = view;
  const health = seen(before, view);
  const ready = readyOf(node);
  const observed = ready?.status ?? 'Unknown';
  const isSilent = now > health.aliveAt + (ready ? graceMs : startupGraceMs);
  if (!isSilent || ready?.status === 'Unknown') return { health, observed, current: ready?.status };
  return { health, observed, current: 'Unknown', conditions: unknownConditions(node, now) };
}

/** Returns the conditions of a pod whose node is not ready; undefined: its Ready condition is absent or false already. */
export function unreadyConditions(conditions: readonly Condition[], now: number): Condition[] | undefined {
  if (!conditions.some(({ type, status }) => type === 'Ready' && status !== 'False')) return undefined;
  return conditions.map((one) =>
    one.type === 'Ready' ? { ...one, status: 'False', lastTransitionTime: seconds(now) } : one,
  );
}
