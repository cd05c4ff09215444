import type { NodeStatus } from '../kube/types.ts';

/** The current addresses in the node's status. */
export interface NodeAddresses {
  current(): readonly NonNullable<NodeStatus['addresses']>[number][];
  /** Calls `listener` after each change. @returns a function that removes the listener */
  onChange(listener: () => void): () => void;
}
