import type { NodeStatus } from '../kube/types.ts';

/** The addresses in the node's status, as they change. */
export interface NodeAddresses {
  current(): readonly NonNullable<NodeStatus['addresses']>[number][];
  /** @returns what ends the calls */
  onChange(listener: () => void): () => void;
}
