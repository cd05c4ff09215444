import type { Informer } from '../api/cache/informer.ts';
import { SharedInformers } from '../api/cache/shared-informers.ts';
import { nodeResource, podResource, serviceResource } from '../api/resources.ts';
import type { Node, Pod, Service } from '../kube/types.ts';
import type { AgentOptions } from './agent-options.ts';
import type { CommonParts } from './common-parts.ts';

/** The informers of an agent; none in a standalone agent. */
export interface ClusterView {
  readonly informers?: SharedInformers;
  /** The pods bound to this node. */
  readonly pods?: Informer<Pod>;
  /** This node's object. */
  readonly nodes?: Informer<Node>;
  readonly services?: Informer<Service>;
}

/** Makes the informers of an agent. They run once `informers.start` is called. */
export function buildClusterView(
  { client, nodeName }: Pick<AgentOptions, 'client' | 'nodeName'>,
  { clock, random, logger }: CommonParts,
): ClusterView {
  if (!client) return {};
  const informers = new SharedInformers({ client, clock, random, logger });
  return {
    informers,
    pods: informers.informer<Pod>(podResource, { fieldSelector: `spec.nodeName=${nodeName}` }),
    nodes: informers.informer<Node>(nodeResource, { fieldSelector: `metadata.name=${nodeName}` }),
    services: informers.informer<Service>(serviceResource),
  };
}
