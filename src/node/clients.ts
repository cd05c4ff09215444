import type { DeleteOptions, Patch, RequestOptions, WriteOptions } from '../api/client.ts';
import type { KubeObject, Lease, Node } from '../kube/types.ts';

/** Nodes as the controller needs them; `ResourceClient<Node>` is one. */
export interface NodeClient {
  get(name: string, options?: RequestOptions): Promise<Node>;
  create(node: Node, options?: WriteOptions): Promise<Node>;
  patch(name: string, patch: Patch, options?: WriteOptions): Promise<Node>;
  delete(name: string, options?: DeleteOptions): Promise<KubeObject>;
}

/** Leases as the controller needs them; `ResourceClient<Lease>` is one. */
export interface LeaseClient {
  get(name: string, options?: RequestOptions): Promise<Lease>;
  create(lease: Lease, options?: WriteOptions): Promise<Lease>;
  update(lease: Lease, options?: WriteOptions): Promise<Lease>;
}
