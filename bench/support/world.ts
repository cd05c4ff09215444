import { setTimeout as sleep } from 'node:timers/promises';
import type { HttpApiClient } from '../../src/api/rest/http-client.ts';
import { Informer } from '../../src/api/cache/informer.ts';
import { leaseResource, nodeResource, podResource } from '../../src/api/resources.ts';
import { systemClock as clock } from '../../src/base/clock.ts';
import type { Lease, Node, Pod } from '../../src/kube/types.ts';
import { inParallel } from './processes.ts';

/** The timeout of every wait, ms. */
const limitMs = 180_000;

/** A request to the API server, and the time until the agent has acted on it, ms. */
export interface Act {
  readonly accepted: Promise<unknown>;
  readonly done: Promise<number>;
}
/** True when the Ready condition is True. */
export const isReady = (object: Pod | Node): boolean =>
  object.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') ?? false;

/** World waits for states that the API server shows. */
export class World {
  readonly client: HttpApiClient;
  readonly #nodeName: string;
  readonly #podOf: (name: string) => Pod;
  readonly pods: Informer<Pod>;
  readonly #stop = new AbortController();
  readonly #waits = new Map<
    string,
    { readonly holds: (pod: Pod | undefined) => boolean; readonly go: () => void }
  >();

  /** @param podOf makes the pods that {@link create} asks for */
  constructor(client: HttpApiClient, nodeName: string, podOf: (name: string) => Pod) {
    this.client = client;
    this.#nodeName = nodeName;
    this.#podOf = podOf;
    this.pods = new Informer<Pod>({ client, clock }, podResource);
    const check = (pod: Pod, gone: boolean): void => {
      const wait = this.#waits.get(pod.metadata?.name ?? '');
      if (wait?.holds(gone ? undefined : pod)) wait.go();
    };
    this.pods.addHandler({
      added: (pod) => {
        check(pod, false);
      },
      updated: (_old, pod) => {
        check(pod, false);
      },
      deleted: (pod) => {
        check(pod, true);
      },
    });
    void this.pods.run(this.#stop.signal);
  }

  /** Resolves when the pod has the expected state. @returns the time, ms */
  async until(name: string, holds: (pod: Pod | undefined) => boolean): Promise<number> {
    const startedAt = performance.now();
    const { promise, resolve, reject } = Promise.withResolvers<undefined>();
    const timer = setTimeout(() => {
      reject(
        new Error(
          `pod ${name} did not get there: ${JSON.stringify(this.pods.store.get(`default/${name}`)?.status)}`,
        ),
      );
    }, limitMs);
    this.#waits.set(name, {
      holds,
      go: () => {
        resolve(undefined);
      },
    });
    await promise;
    clearTimeout(timer);
    this.#waits.delete(name);
    return performance.now() - startedAt;
  }

  /**
   * Warms up the API server with pods of another node, because a real one has been running for long when a node joins.
   * @param width the number of parallel requests
   */
  async warmUp(width: number): Promise<void> {
    await inParallel(500, width, async (index) => {
      const ref = { namespace: 'default', name: `elsewhere-${index}` };
      const pod = this.#podOf(ref.name);
      await this.client.create(podResource, { ...pod, spec: { ...pod.spec, nodeName: 'elsewhere' } } as Pod);
      await this.client.get(podResource, ref);
      const body = { status: { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] } };
      await this.client.patch(podResource, ref, { type: 'strategic', body }, { subresource: 'status' });
      await this.client.delete(podResource, ref, { gracePeriodSeconds: 0 });
    });
  }

  create(name: string): Act {
    const done = this.until(name, (pod) => pod !== undefined && isReady(pod));
    return { accepted: this.client.create(podResource, this.#podOf(name)), done };
  }

  remove(name: string): Act {
    const done = this.until(name, (pod) => pod === undefined);
    return { accepted: this.client.delete(podResource, { namespace: 'default', name }), done };
  }

  /** Changes the image and a label: the container is replaced, and the pod becomes Ready again. */
  update(name: string, image: string): Act {
    const done = this.until(
      name,
      (pod) => pod !== undefined && isReady(pod) && pod.status?.containerStatuses?.[0]?.image === image,
    );
    const body = { metadata: { labels: { image: 'new' } }, spec: { containers: [{ name: 'main', image }] } };
    const ref = { namespace: 'default', name };
    return { accepted: this.client.patch(podResource, ref, { type: 'strategic', body }), done };
  }

  /** @throws after three minutes */
  async nodeReady(): Promise<void> {
    const endsAt = performance.now() + limitMs;
    for (;;) {
      if (performance.now() > endsAt) throw new Error(`node ${this.#nodeName} is not Ready`);
      const node = await this.client.get<Node>(nodeResource, { name: this.#nodeName }).catch(() => undefined);
      if (node && isReady(node)) return;
      await sleep(5);
    }
  }

  async renewTime(): Promise<string | undefined> {
    const ref = { namespace: 'kube-node-lease', name: this.#nodeName };
    const lease = await this.client.get<Lease>(leaseResource, ref).catch(() => undefined);
    return lease?.spec?.renewTime;
  }

  async close(): Promise<void> {
    this.#stop.abort();
    await this.client.close();
  }
}
