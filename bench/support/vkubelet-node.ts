/**
 * A node of the vkubelet bench, in a separate process: `vkubelet-node.ts records|memory NODE KUBECONFIG DIR`. Its pods are in a file in
 * DIR after SIGTERM and are read from it at the start, so that a restart finds everything in place.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createApiClient } from '../../src/api/rest/http-client.ts';
import { connectionFromKubeconfig } from '../../src/api/kubeconfig/kube-client.ts';
import { systemClock as clock } from '../../src/base/clock.ts';
import { keyOf } from '../../src/kube/names.ts';
import type { ContainerState, Pod, PodPhase, PodStatus } from '../../src/kube/types.ts';
import { MemoryProvider } from '../../src/providers/memory/index.ts';
import { newNode, type PodLifecycleHandler, type PodNotifier } from '../../src/vkubelet/index.ts';

const [contract = 'records', nodeName = 'bench', kubeconfig = '', dir = '.'] = process.argv.slice(2);
const stop = new AbortController();
process.once('SIGTERM', () => {
  stop.abort();
});

/** A provider of virtual-kubelet's contract whose pods are records that run at once. Its file stands for the cloud that keeps them. */
class Records implements PodLifecycleHandler, PodNotifier {
  readonly #pods: Map<string, Pod>;
  readonly #file: string;
  #notify: (pod: Pod) => void = () => undefined;

  constructor(file: string) {
    this.#file = file;
    const stored = existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as readonly Pod[]) : [];
    this.#pods = new Map(stored.map((pod) => [keyOf(pod), pod]));
  }

  save(): void {
    writeFileSync(this.#file, JSON.stringify([...this.#pods.values()]));
  }

  createPod(pod: Pod): Promise<void> {
    return this.#set(pod, { running: { startedAt: new Date().toISOString() } }, 'Running');
  }

  updatePod(pod: Pod): Promise<void> {
    return this.createPod(pod);
  }

  async deletePod(pod: Pod): Promise<void> {
    const finishedAt = new Date().toISOString();
    await this.#set(pod, { terminated: { exitCode: 0, finishedAt } }, 'Succeeded');
    this.#pods.delete(keyOf(pod));
  }

  #set(pod: Pod, state: ContainerState, phase: PodPhase): Promise<void> {
    const containerStatuses = (pod.spec?.containers ?? []).map(({ name, image = '' }) => ({
      ...{ name, image, state, imageID: image, restartCount: 0, ready: phase === 'Running' },
    }));
    const next = { ...pod, status: { phase, podIP: '10.0.0.1', containerStatuses } };
    this.#pods.set(keyOf(pod), next);
    this.#notify(next);
    return Promise.resolve();
  }

  getPod(namespace: string, name: string): Promise<Pod | undefined> {
    return Promise.resolve(this.#pods.get(`${namespace}/${name}`));
  }

  async getPodStatus(namespace: string, name: string): Promise<PodStatus | undefined> {
    return (await this.getPod(namespace, name))?.status;
  }

  getPods(): Promise<readonly Pod[]> {
    return Promise.resolve([...this.#pods.values()]);
  }

  notifyPods(notify: (pod: Pod) => void): void {
    this.#notify = notify;
  }
}

const records = new Records(join(dir, 'records.json'));
const journal = join(dir, 'memory-pods.jsonl');
const provider = contract === 'memory' ? new MemoryProvider({ clock, journal }) : records;
const client = createApiClient(await connectionFromKubeconfig(clock, kubeconfig), { clock, qps: 0 });
const node = newNode(
  nodeName,
  () => [provider],
  (config) => {
    config.client = client;
    config.httpListenAddr = '127.0.0.1:0';
    const capacity = { cpu: '1000', memory: '1Ti', pods: '100000' };
    config.nodeSpec = { ...config.nodeSpec, status: { ...config.nodeSpec.status, capacity } };
  },
);
await node.run(stop.signal);
records.save();
await client.close();
