import { systemClock } from '../../../src/base/clock.ts';
import { isConflict, isNotFound } from '../../../src/api/client.ts';
import { isAlreadyExists } from '../../../src/api/client.ts';
import { rawPatch } from '../../../src/controller/client/patches.ts';
import { type Client, kinds, type ObjectOf } from '../../../src/controller/index.ts';

export type Pod = ObjectOf<typeof kinds.Pod>;

const names = ['churn-1', 'churn-2', 'churn-3'];
/** How often a node reports, ms. */
const heartbeatMs = 10_000;

export const now = (): string => new Date(systemClock.now()).toISOString().replace(/\.\d+Z/, 'Z');

/** How a pod goes on once it has started. */
export type Fate = 'runs' | 'Succeeded' | 'Failed';

/** Three nodes, a scheduler and kubelets that start and end pods at once, as far as controllers see them. */
export class Nodes {
  readonly #client: Client;
  readonly #fateOf: (pod: Pod) => Fate;
  readonly #stop = new AbortController();
  readonly #running: Promise<unknown>[] = [];
  /** Faults that no race explains. */
  readonly faults: string[] = [];

  constructor(client: Client, fateOf: (pod: Pod) => Fate) {
    this.#client = client;
    this.#fateOf = fateOf;
  }

  async start(): Promise<void> {
    for (const name of names) {
      const lease = { metadata: { namespace: 'kube-node-lease', name }, spec: { holderIdentity: name } };
      await this.#client
        .create(kinds.Node, { metadata: { name, labels: { 'kubernetes.io/hostname': name } } })
        .catch(ignore(isAlreadyExists));
      await this.#client.create(kinds.Lease, lease).catch(ignore(isAlreadyExists));
    }
    await this.#beat();
    this.#running.push(this.#beats(), this.#play());
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await Promise.allSettled(this.#running);
  }

  async #beats(): Promise<void> {
    for (;;) {
      await systemClock.sleep(heartbeatMs, this.#stop.signal);
      await this.#beat().catch((reason: unknown) => {
        this.#note(reason);
      });
    }
  }

  /** Reports all nodes Ready, as their kubelets do. */
  async #beat(): Promise<void> {
    for (const name of names) {
      const ready = { type: 'Ready', status: 'True', reason: 'KubeletReady', message: '' };
      const condition = { ...ready, lastHeartbeatTime: now(), lastTransitionTime: now() };
      const amounts = { cpu: '1000', memory: '1000Gi', pods: '10000' };
      const status = { conditions: [condition], capacity: amounts, allocatable: amounts };
      await this.#client.status.patch(kinds.Node, { metadata: { name } }, rawPatch('strategic', { status }));
      const renewTime = now().replace('Z', '.000000Z');
      const lease = { metadata: { namespace: 'kube-node-lease', name } };
      await this.#client.patch(
        kinds.Lease,
        lease,
        rawPatch('merge', { spec: { renewTime, leaseDurationSeconds: 40 } }),
      );
    }
  }

  async #play(): Promise<void> {
    const { signal } = this.#stop;
    const begun = new Set<string>();
    const work = new Set<Promise<unknown>>();
    try {
      for await (const { type, object } of this.#client.watch(kinds.Pod, { signal })) {
        if (type !== 'ADDED' && type !== 'MODIFIED') continue;
        const key = `${object.metadata?.uid} ${stepOf(object)}`;
        if (stepOf(object) === 'none' || begun.has(key)) continue;
        begun.add(key);
        const step = this.#step(object).catch((reason: unknown) => {
          begun.delete(key);
          this.#note(reason);
        });
        work.add(step);
        void step.finally(() => work.delete(step));
      }
    } catch (reason) {
      if (!signal.aborted) throw reason;
    }
    await Promise.all(work);
  }

  #note(reason: unknown): void {
    if (isNotFound(reason) || isConflict(reason) || this.#stop.signal.aborted) return;
    this.faults.push(`node: ${String(reason)}`);
  }

  async #step(pod: Pod): Promise<void> {
    const step = stepOf(pod);
    if (step === 'delete')
      await this.#client.delete(kinds.Pod, pod, {
        gracePeriodSeconds: 0,
        preconditions: { uid: pod.metadata?.uid ?? '' },
      });
    else if (step === 'bind') await this.#bind(pod);
    else await this.#begin(pod);
  }

  async #bind(pod: Pod): Promise<void> {
    const uid = pod.metadata?.uid ?? '';
    const name = nodeOf(pod) ?? names[uid.charCodeAt(0) % names.length] ?? '';
    const target = { apiVersion: 'v1', kind: 'Node', name };
    await this.#client.subResource('binding').create(kinds.Pod, pod, {
      apiVersion: 'v1',
      kind: 'Binding',
      metadata: { name: pod.metadata?.name ?? '' },
      target,
    } as object);
  }

  async #begin(pod: Pod): Promise<void> {
    const fate = this.#fateOf(pod);
    const isReady = fate === 'runs';
    const ended = {
      terminated: { exitCode: fate === 'Failed' ? 1 : 0, startedAt: now(), finishedAt: now() },
    };
    const status = {
      phase: isReady ? 'Running' : fate,
      startTime: now(),
      podIP: '10.0.0.1',
      podIPs: [{ ip: '10.0.0.1' }],
      conditions: [{ type: 'Ready', status: isReady ? 'True' : 'False', lastTransitionTime: now() }],
      containerStatuses: (pod.spec?.containers ?? []).map(({ name, image = '' }) => ({
        ...{ name, image, imageID: '', ready: isReady, restartCount: 0 },
        state: isReady ? { running: { startedAt: now() } } : ended,
      })),
    };
    await this.#client.status.patch(kinds.Pod, pod, rawPatch('strategic', { status }));
  }
}

/** What a scheduler or kubelet does with a pod as it is. */
function stepOf({ metadata, spec, status }: Pod): 'bind' | 'begin' | 'delete' | 'none' {
  if (metadata?.deletionTimestamp !== undefined)
    return metadata.deletionGracePeriodSeconds === 0 ? 'none' : 'delete';
  if (spec?.nodeName === undefined) return 'bind';
  return status?.startTime === undefined ? 'begin' : 'none';
}

/** The node that a DaemonSet's pod asks for. */
function nodeOf({ spec }: Pod): string | undefined {
  const terms =
    spec?.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms;
  return terms?.[0]?.matchFields?.[0]?.values?.[0];
}

const ignore =
  (isExpected: (reason: unknown) => boolean) =>
  (reason: unknown): undefined => {
    if (!isExpected(reason)) throw reason;
    return undefined;
  };
