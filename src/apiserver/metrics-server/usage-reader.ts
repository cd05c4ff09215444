import { type Clock, steadyNow } from '../../base/clock.ts';
import { messageOf } from '../../base/errors.ts';
import type { Logger } from '../../base/logger.ts';
import type { KubeletProxy } from '../proxy/kubelet-proxy.ts';
import { nextPair, type Pair, readResourceMetrics, type Reading, resolutionMs } from './resource-usage.ts';
import type { Store } from '../storage/store.ts';

export interface UsageReaderDeps {
  readonly store: Pick<Store, 'list'>;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly kubelets: Pick<KubeletProxy, 'text'>;
  /** Ends what is under way. */
  readonly stopping: AbortSignal;
}

/** What nodes and pods used when they were last asked. */
export interface KnownUsage {
  /** By name. */
  readonly nodes: ReadonlyMap<string, Pair>;
  /** By `namespace/name`, then by container. */
  readonly pods: ReadonlyMap<string, ReadonlyMap<string, Pair>>;
}

/** How long a kubelet may take to answer, ms. */
const answerMs = 5000;
/** How long after a first reading the second comes, ms: long enough for a rate, short enough for somebody who waits. */
const secondReadingMs = 1000;

/**
 * Asks kubelets what their nodes and pods use, when somebody asks and no more often than metrics-server would; nothing goes on while nobody asks. Whoever asks
 * first, or after a long silence, waits for two readings a second apart, as old ones would tell of what was.
 */
export class UsageReader {
  readonly #deps: UsageReaderDeps;
  #known: KnownUsage = { nodes: new Map(), pods: new Map() };
  #goodUntil = -Infinity;
  #reading: Promise<void> | undefined;

  constructor(deps: UsageReaderDeps) {
    this.#deps = deps;
  }

  /** What is in use, of the last 15 seconds. Nodes whose kubelets do not answer are left out. */
  async usage(): Promise<KnownUsage> {
    if (steadyNow(this.#deps.clock) >= this.#goodUntil) {
      this.#reading ??= this.#read().finally(() => (this.#reading = undefined));
      await this.#reading;
    }
    return this.#known;
  }

  async #read(): Promise<void> {
    const { clock, stopping } = this.#deps;
    await this.#ask();
    if (this.#isHalf()) {
      await clock.sleep(secondReadingMs, stopping);
      await this.#ask();
    }
    this.#goodUntil = steadyNow(clock) + resolutionMs;
  }

  /** Whether anything has one reading only. */
  #isHalf(): boolean {
    const { nodes, pods } = this.#known;
    const half = (pairs: ReadonlyMap<string, Pair>): boolean =>
      [...pairs.values()].some(({ first }) => !first);
    return half(nodes) || [...pods.values()].some(half);
  }

  /** One reading of every node; what is not told any more is forgotten. */
  async #ask(): Promise<void> {
    const names = [...this.#deps.store.list('nodes')].map(({ key }) => key);
    const answers = await Promise.all(names.map((name) => this.#askOne(name)));
    const nodes = new Map<string, Reading>();
    const pods = new Map<string, ReadonlyMap<string, Pair>>();
    for (const [index, answer] of answers.entries()) {
      if (answer?.node) nodes.set(names[index] ?? '', answer.node);
      for (const [key, containers] of answer?.pods ?? [])
        pods.set(key, paired(this.#known.pods.get(key), containers));
    }
    this.#known = { nodes: paired(this.#known.nodes, nodes), pods };
  }

  async #askOne(name: string): Promise<ReturnType<typeof readResourceMetrics> | undefined> {
    const { clock, kubelets, logger, stopping } = this.#deps;
    const late = new AbortController();
    const stop = clock.timer(answerMs, () => {
      late.abort();
    });
    try {
      const signal = AbortSignal.any([stopping, late.signal]);
      return readResourceMetrics(await kubelets.text(name, '/metrics/resource', signal), clock.now());
    } catch (reason) {
      logger.warn('a node did not tell what it uses', { node: name, err: messageOf(reason) });
      return undefined;
    } finally {
      stop();
    }
  }
}

const paired = (
  known: ReadonlyMap<string, Pair> | undefined,
  readings: ReadonlyMap<string, Reading>,
): ReadonlyMap<string, Pair> =>
  new Map([...readings].map(([key, reading]) => [key, nextPair(known?.get(key), reading)]));
