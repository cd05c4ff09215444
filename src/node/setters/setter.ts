import type { Node, NodeStatus } from '../../kube/types.ts';

/** An event about the node. */
export interface NodeEvent {
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
}

/** Result of a setter. */
export interface SetterResult {
  readonly node: Node;
  readonly events?: readonly NodeEvent[];
  /** What could not be determined; the rest of the status is valid. */
  readonly error?: string;
}

/** Setter updates one part of the node's status (kubelet `nodestatus.Setter`). @param now ms since the epoch */
export type NodeStatusSetter = (node: Node, now: number) => SetterResult | Promise<SetterResult>;

/** Returns the node with a part of its status changed. */
export const withStatus = (node: Node, part: Partial<NodeStatus>): Node => ({
  ...node,
  status: { ...node.status, ...part },
});

/** Returns the kubelet's event about a condition of the node. */
export const conditionEvent = (node: Node, reason: string): NodeEvent => ({
  type: 'Normal',
  reason,
  message: `Node ${node.metadata?.name ?? ''} status is now: ${reason}`,
});

/** Runs setters in order; errors are collected and do not stop later setters. */
export async function foldSetters(
  setters: readonly NodeStatusSetter[],
  node: Node,
  now: number,
): Promise<{
  readonly node: Node;
  readonly events: readonly NodeEvent[];
  readonly errors: readonly string[];
}> {
  let current = node;
  const events: NodeEvent[] = [];
  const errors: string[] = [];
  for (const setter of setters) {
    const result = await setter(current, now);
    current = result.node;
    events.push(...(result.events ?? []));
    if (result.error !== undefined) errors.push(result.error);
  }
  return { node: current, events, errors };
}
