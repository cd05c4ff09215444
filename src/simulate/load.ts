import { type ApiClient, isAlreadyExists } from '../api/client.ts';
import { podResource } from '../api/resources.ts';
import { isAborted } from '../base/abort.ts';
import type { Clock } from '../base/clock.ts';
import { messageOf } from '../base/errors.ts';
import type { Logger } from '../base/logger.ts';
import type { Pod } from '../kube/types.ts';
import { Lanes } from './lanes.ts';

/** Label of the pods that a simulation creates. */
export const loadLabel = 'podtender.io/simulated-load';

/** Options of the pods that a simulation creates. */
export interface LoadOptions {
  readonly client: ApiClient;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly nodes: readonly string[];
  readonly podsPerNode: number;
  readonly namespace: string;
  readonly image: string;
}

const podsAtOnce = 24;
const requestMs = 30_000;
const againMs = 1000;

/** Returns the pod with this number for a node; it is bound to the node already. */
export const loadPod = (
  { namespace, image }: Pick<LoadOptions, 'namespace' | 'image'>,
  nodeName: string,
  number: number,
): Pod => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: {
    name: `${nodeName}-pod-${number}`,
    namespace,
    labels: { [loadLabel]: 'true', 'app.kubernetes.io/name': 'simulated-load' },
  },
  spec: {
    nodeName,
    containers: [{ name: 'app', image }],
    automountServiceAccountToken: false,
    tolerations: [{ operator: 'Exists' }],
  },
});

/** Creates the pods of all nodes, the first of each node first. A pod that exists is left as it is; a failed request is repeated. */
export async function createLoad(options: LoadOptions, signal: AbortSignal): Promise<void> {
  const { client, clock, logger, nodes, podsPerNode } = options;
  const lanes = new Lanes(podsAtOnce);
  const create = async (pod: Pod): Promise<void> => {
    while (!signal.aborted) {
      try {
        await client.create(podResource, pod, { signal, timeoutMs: requestMs });
        return;
      } catch (reason) {
        if (isAborted(signal) || isAlreadyExists(reason)) return;
        logger.warn('a pod could not be created', { pod: pod.metadata?.name, err: messageOf(reason) });
        await clock.sleep(againMs, signal).catch(() => undefined);
      }
    }
  };
  for (let number = 0; number < podsPerNode && !signal.aborted; number++)
    await Promise.all(nodes.map((node) => lanes.run(() => create(loadPod(options, node, number)))));
}
