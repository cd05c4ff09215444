import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { createApiClient, type HttpApiClient } from '../../src/api/rest/http-client.ts';
import { Informer } from '../../src/api/cache/informer.ts';
import { podResource } from '../../src/api/resources.ts';
import { systemClock } from '../../src/base/clock.ts';
import type { KubeObject, Pod } from '../../src/kube/types.ts';
import { ChaosProxy, type Fault, faults, seeded } from './chaos-proxy.ts';
import { KubeStub } from './kube-stub.ts';

export interface SoakOptions {
  readonly seconds: number;
  readonly objects: number;
  readonly seed: number;
  readonly log: (line: string) => void;
}

export interface SoakResult {
  readonly rounds: number;
  readonly changes: number;
  readonly compared: number;
  /** Answers to single reads, which may come from what an informer has at hand. */
  readonly reads: number;
  readonly injected: Readonly<Record<Fault, number>>;
  readonly lists: number;
  readonly watches: number;
  /** MiB after a collection, round by round. */
  readonly heap: readonly number[];
}

/** A mirror of the changes that a handler received; a change that cannot follow from the previous one is a fault. */
class Mirror {
  readonly pods = new Map<string, Pod>();
  readonly name: string;
  fault: string | undefined;

  constructor(name: string) {
    this.name = name;
  }

  added(pod: Pod): void {
    const existing = this.pods.get(key(pod));
    if (existing) this.#wrong(`${key(pod)} was added twice (${uid(existing)}, then ${uid(pod)})`);
    this.pods.set(key(pod), pod);
  }

  updated(old: Pod, pod: Pod): void {
    const existing = this.pods.get(key(pod));
    if (uid(existing) !== uid(old) || uid(old) !== uid(pod))
      this.#wrong(`${key(pod)} was updated from another life`);
    if (version(existing) !== version(old))
      this.#wrong(`${key(pod)} was updated from a state that was never told`);
    if (Number(version(pod)) <= Number(version(old)))
      this.#wrong(`${key(pod)} was updated to an older state`);
    this.pods.set(key(pod), pod);
  }

  deleted(pod: Pod): void {
    if (uid(this.pods.get(key(pod))) !== uid(pod)) this.#wrong(`${key(pod)} was deleted without being there`);
    this.pods.delete(key(pod));
  }

  #wrong(what: string): void {
    this.fault ??= `handler ${this.name}: ${what}`;
  }
}

const key = (pod: Pod): string => pod.metadata?.name ?? '';
const uid = (pod: Pod | undefined): string => pod?.metadata?.uid ?? '';
const version = (pod: Pod | undefined): string => pod?.metadata?.resourceVersion ?? '';

/** Each version of an object contains its number, so that versions cannot be confused. */
const bodyAt = (at: number): Readonly<Record<string, unknown>> => ({
  spec: { nodeName: 'n' },
  status: { message: `version ${at}` },
});

const put = (stub: KubeStub, name: string, id: string): KubeObject =>
  stub.put(name, id, bodyAt(stub.version + (stub.replaces(name, id) ? 2 : 1)));

/** Why a pod's content does not match its version. */
function torn(what: string, pod: Pod): string | undefined {
  const message = pod.status?.message ?? '';
  return message === `version ${version(pod)}`
    ? undefined
    : `${what} shows ${key(pod)} at version ${version(pod)}, but what it holds is ${message}`;
}

/** Where a mirror differs from the server; `undefined` when it does not. */
function difference(stub: KubeStub, what: string, pods: ReadonlyMap<string, Pod>): string | undefined {
  for (const [name, object] of stub.objects) {
    const pod = pods.get(name);
    if (!pod) return `${what} lacks ${name}`;
    if (uid(pod) !== object.metadata?.uid || version(pod) !== object.metadata.resourceVersion)
      return `${what} has ${name} ${uid(pod)}@${version(pod)}, the server ${object.metadata?.uid ?? ''}@${object.metadata?.resourceVersion ?? ''}`;
    const fault = torn(what, pod);
    if (fault !== undefined) throw new Error(fault);
  }
  for (const name of pods.keys()) if (!stub.objects.has(name)) return `${what} still has ${name}`;
  return undefined;
}

interface Watcher {
  readonly informer: Informer<Pod>;
  readonly mirrors: readonly Mirror[];
}

function watcher(client: HttpApiClient, streamingList: boolean, signal: AbortSignal): Watcher {
  const informer = new Informer<Pod>({ client, clock: systemClock }, podResource, {
    streamingList,
    idleTimeoutMs: 500,
    backOff: { baseMs: 10, maxMs: 100, resetAfterMs: 5000 },
  });
  const kind = streamingList ? 'streamed' : 'paged';
  const [quick, slow] = [new Mirror(`${kind}, quick`), new Mirror(`${kind}, slow`)];
  informer.addHandler({
    added: (pod) => {
      quick.added(pod);
    },
    updated: (old, pod) => {
      quick.updated(old, pod);
    },
    deleted: (pod) => {
      quick.deleted(pod);
    },
  });
  const rest = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
  informer.addHandler({
    added: async (pod) => {
      slow.added(pod);
      if (Number(version(pod)) % 50 === 0) await rest();
    },
    updated: async (old, pod) => {
      slow.updated(old, pod);
      if (Number(version(pod)) % 50 === 0) await rest();
    },
    deleted: async (pod) => {
      slow.deleted(pod);
      await rest();
    },
  });
  void informer.run(signal);
  return { informer, mirrors: [quick, slow] };
}

/**
 * Changes objects while every kind of fault is injected between client and server, one after the other. After each fault the caches and the
 * mirrors of the handlers must equal the server.
 *
 * @throws on the first difference, saying what it is
 */
export async function soak(options: SoakOptions): Promise<SoakResult> {
  const random = seeded(options.seed);
  const stub = new KubeStub();
  const proxy = new ChaosProxy(await stub.listen(), random);
  const client = createApiClient(
    { server: await proxy.listen() },
    { clock: systemClock, qps: 0, timeoutMs: 3000 },
  );
  stub.intercept = ({ method, url }, response) => {
    const name = /\/pods\/([^/]+)$/.exec(url.pathname)?.[1];
    if (method !== 'GET' || name === undefined) return false;
    const object = stub.objects.get(name);
    return object ? stub.json(response, 200, object) : stub.status(response, 404, 'NotFound');
  };
  const stop = new AbortController();
  for (let i = 0; i < options.objects; i++) put(stub, `pod-${i}`, `uid-${i}`);
  const watchers = [watcher(client, true, stop.signal), watcher(client, false, stop.signal)];
  const result = { rounds: 0, changes: 0, compared: 0, reads: 0, heap: [] as number[] };
  const end = Date.now() + options.seconds * 1000;
  try {
    await settled(stub, watchers);
    while (Date.now() < end || result.rounds < faults.length) {
      const fault = faults[result.rounds % faults.length] ?? 'cut';
      const gap = random() < 0.15;
      const reads: Promise<string | undefined>[] = [];
      result.changes += await churn(stub, options.objects, random, (burst) => {
        if (burst % 4 === 0) proxy.start(fault);
        for (const { informer } of watchers)
          reads.push(read({ stub, client }, informer, Math.floor(random() * options.objects)));
        if (gap && burst === 6) {
          stub.cutWatches();
          stub.compact();
        }
      });
      proxy.end();
      const tookMs = await settled(stub, watchers);
      const answered = (await Promise.all(reads)).filter((fault) => fault !== undefined);
      result.reads += answered.length;
      for (const fault of answered) if (fault !== '') throw new Error(fault);
      result.rounds++;
      result.compared += stub.objects.size * watchers.length * 3;
      const heap = heapMiB();
      result.heap.push(heap);
      options.log(
        `round ${result.rounds}: ${fault}${gap ? ' and a compaction' : ''}, equal after ${tookMs} ms, heap ${heap.toFixed(1)} MiB`,
      );
      assertFlat(result.heap);
    }
    const lists = watchers.reduce((sum, { informer }) => sum + informer.stats.lists, 0);
    const watches = watchers.reduce((sum, { informer }) => sum + informer.stats.watches, 0);
    return { ...result, injected: proxy.injected, lists, watches };
  } finally {
    stop.abort();
    await client.close();
    await proxy.close();
    await stub.close();
  }
}

/**
 * Asks for a pod as one who may be answered with what the informer has at hand. @returns what is wrong with the answer: it is not
 * what it says it is, or older than what the server had when it was asked; `''`: nothing; absent: there was none
 */
async function read(
  { stub, client }: { readonly stub: KubeStub; readonly client: HttpApiClient },
  { knownObjects }: Informer<Pod>,
  at: number,
): Promise<string | undefined> {
  const ref = { namespace: 'default', name: `pod-${at}` };
  const had = stub.objects.get(ref.name);
  const pod = await client
    .get<Pod>(podResource, ref, { knownObjects, timeoutMs: 1000 })
    .catch(() => undefined);
  if (!pod) return undefined;
  if (Number(version(pod)) < Number(version(had)))
    return `${ref.name} was read at version ${version(pod)} after it had reached ${version(had)}`;
  return torn('an answer', pod) ?? '';
}

/** Creates, changes, deletes and replaces objects for a little while. */
async function churn(
  stub: KubeStub,
  objects: number,
  random: () => number,
  between: (burst: number) => void,
): Promise<number> {
  let changes = 0;
  for (let burst = 0; burst < 12; burst++) {
    between(burst);
    for (let i = 0; i < 25; i++) {
      const at = Math.floor(random() * objects);
      const name = `pod-${at}`;
      const existing = stub.objects.get(name)?.metadata?.uid;
      const dice = random();
      if (existing === undefined || dice < 0.1) put(stub, name, `uid-${at}-${stub.version}`);
      else if (dice < 0.2) stub.remove(name);
      else put(stub, name, existing);
      changes++;
    }
    if (burst % 4 === 3) stub.bookmark();
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  return changes;
}

/** Resolves when everything equals the server; how long that took, ms. @throws when it does not within 15 s */
async function settled(stub: KubeStub, watchers: readonly Watcher[]): Promise<number> {
  const from = Date.now();
  for (;;) {
    const found = compare(stub, watchers);
    if (found === undefined) return Date.now() - from;
    if (Date.now() - from > 15_000)
      throw new Error(`not equal after 15 s: ${found}; ${stateOf(stub, watchers)}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

function stateOf(stub: KubeStub, watchers: readonly Watcher[]): string {
  const states = watchers.map(
    ({ informer }) => `${informer.resourceVersion} ${JSON.stringify(informer.stats)}`,
  );
  return `the server is at ${stub.version} with ${stub.watchers} watches, the informers at ${states.join(' and ')}`;
}

function compare(stub: KubeStub, watchers: readonly Watcher[]): string | undefined {
  for (const { informer, mirrors } of watchers) {
    for (const { fault } of mirrors) if (fault !== undefined) throw new Error(fault);
    if (!informer.synced) return 'an informer has not synced';
    const cache = new Map(informer.store.list().map((pod) => [key(pod), pod]));
    const found = [
      difference(stub, 'the cache', cache),
      ...mirrors.map(({ name, pods }) => difference(stub, `handler ${name}`, pods)),
    ].find((text) => text !== undefined);
    if (found !== undefined) return found;
  }
  return undefined;
}

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

function heapMiB(): number {
  collect();
  return process.memoryUsage().heapUsed / 2 ** 20;
}

/** The stub's own history grows to its bound first; after that nothing may grow. */
function assertFlat(heap: readonly number[]): void {
  if (heap.length < 60) return;
  const middle = (from: number): number => [...heap.slice(from, from + 20)].sort((a, b) => a - b)[10] ?? 0;
  const grown = middle(heap.length - 20) - middle(40 + ((heap.length / 2) | 0) - 30);
  if (grown > 20) throw new Error(`memory grows: ${grown.toFixed(1)} MiB more than half-way`);
}
