import { isNotFound } from '../../src/api/client.ts';
import type { HttpApiClient } from '../../src/api/rest/http-client.ts';
import { nodeResource, podResource } from '../../src/api/resources.ts';
import { nameOf, namespaceOf } from '../../src/kube/names.ts';
import type { Node, Pod, PodCondition, PodStatus } from '../../src/kube/types.ts';

const condition = (type: string, status: 'True' | 'False'): PodCondition => ({
  ...{ type, status, lastTransitionTime: new Date().toISOString() },
});

/** PlayedNode is a Node without a kubelet: the test writes what a kubelet would write. */
export class PlayedNode {
  readonly #client: HttpApiClient;
  readonly #name: string;
  #heartbeats = 0;

  constructor(client: HttpApiClient, name: string) {
    this.#client = client;
    this.#name = name;
  }

  /** Registers the Node with a label `role` of its name, and makes it ready. */
  async register(): Promise<void> {
    const metadata = { name: this.#name, labels: { role: this.#name, 'kubernetes.io/os': 'linux' } };
    await this.#client.create<Node>(nodeResource, { metadata });
    await this.beat();
  }

  /** Posts that the node is ready, with a new heartbeat. */
  async beat(): Promise<void> {
    const heartbeat = new Date(Date.parse('2026-01-01T00:00:00Z') + ++this.#heartbeats * 1000).toISOString();
    const ready = { ...condition('Ready', 'True'), lastHeartbeatTime: heartbeat, reason: 'KubeletReady' };
    const body = { status: { conditions: [ready], capacity: { pods: '10', cpu: '8', memory: '8Gi' } } };
    const ref = { name: this.#name };
    await this.#client.patch(nodeResource, ref, { type: 'strategic', body }, { subresource: 'status' });
  }

  /** Deletes the Node object, as an administrator or a cloud controller does. */
  async remove(): Promise<void> {
    await this.#client.delete(nodeResource, { name: this.#name });
  }

  /** Posts that the containers of a pod run. */
  async run(pod: Pod): Promise<void> {
    await this.report(pod, {
      phase: 'Running',
      podIP: '192.0.2.7',
      podIPs: [{ ip: '192.0.2.7' }],
      conditions: [condition('Ready', 'True'), condition('ContainersReady', 'True')],
      containerStatuses: this.#containers(pod, { running: { startedAt: new Date().toISOString() } }),
    });
  }

  /** Posts that all containers of a pod have ended. @param status phase, reason, message and conditions of the pod */
  async end(pod: Pod, exitCode: number, status: PodStatus): Promise<void> {
    const finishedAt = new Date().toISOString();
    const terminated = { exitCode, reason: exitCode === 0 ? 'Completed' : 'Error', finishedAt };
    await this.report(pod, { ...status, containerStatuses: this.#containers(pod, { terminated }) });
  }

  /** Writes into the status of a pod. */
  async report(pod: Pod, status: PodStatus): Promise<void> {
    const patch = { type: 'strategic', body: { status } } as const;
    await this.#client.patch(podResource, refOf(pod), patch, { subresource: 'status' });
  }

  /** Confirms a deletion: removes the pod at once, as a kubelet does at its end. */
  async confirm(pod: Pod): Promise<void> {
    await this.#client.delete(podResource, refOf(pod), { gracePeriodSeconds: 0 }).catch((reason: unknown) => {
      if (!isNotFound(reason)) throw reason;
    });
  }

  #containers(
    pod: Pod,
    state: NonNullable<NonNullable<PodStatus['containerStatuses']>[number]['state']>,
  ): NonNullable<PodStatus['containerStatuses']> {
    return (pod.spec?.containers ?? []).map(({ name, image = '' }) => ({
      ...{ name, image, imageID: image, restartCount: 0, containerID: `played://${nameOf(pod)}-${name}` },
      ...{ state, ready: state.running !== undefined, started: state.running !== undefined },
    }));
  }
}

const refOf = (pod: Pod): { readonly namespace: string; readonly name: string } => ({
  namespace: namespaceOf(pod),
  name: nameOf(pod),
});
