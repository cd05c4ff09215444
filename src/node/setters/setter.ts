import type { Node, NodeStatus } from '../../kube/types.ts';

/** Something that the node's watchers should hear of. */
export interface NodeEvent {
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
}

/** What one setter made of a node. */
export interface SetterResult {
  readonly node: Node;
  readonly events?: readonly NodeEvent[];
  /** What could not be found out; the rest of the status is still good. */
  readonly error?: string;
}

/** One part of the node's status as a step of a fold (kubelet `nodestatus.Setter`). @param now ms since the epoch */
export type NodeStatusSetter = (node: Node, now: number) => SetterResult | Promise<SetterResult>;

/** The node with `part` of its status changed. */
export const withStatus = (node: Node, part: Partial<NodeStatus>): Node => ({
  ...node,
  status: { ...node.status, ...part },
});

/** Kubelet's event about a condition of the node. */
export const conditionEvent = (node: Node, reason: string): NodeEvent => ({
  type: 'Normal',
  reason,
  message: `Node ${node.metadata?.name ?? ''} status is now: ${reason}`,
});

/** Runs setters one after the other over a node; errors are collected, none stops the fold. */
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
