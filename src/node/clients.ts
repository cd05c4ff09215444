import type { DeleteOptions, Patch, RequestOptions, WriteOptions } from '../api/client.ts';
import type { KubeObject, Lease, Node } from '../kube/types.ts';

/** Access to Nodes that the controller needs; `ResourceClient<Node>` implements it. */
export interface NodeClient {
  get(name: string, options?: RequestOptions): Promise<Node>;
  create(node: Node, options?: WriteOptions): Promise<Node>;
  patch(name: string, patch: Patch, options?: WriteOptions): Promise<Node>;
  delete(name: string, options?: DeleteOptions): Promise<KubeObject>;
}

/** Access to Leases that the controller needs; `ResourceClient<Lease>` implements it. */
export interface LeaseClient {
  get(name: string, options?: RequestOptions): Promise<Lease>;
  create(lease: Lease, options?: WriteOptions): Promise<Lease>;
  update(lease: Lease, options?: WriteOptions): Promise<Lease>;
}
