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
  /** Aborts requests in progress. */
  readonly stopping: AbortSignal;
}

/** The last readings of nodes and pods. */
export interface RecordedUsage {
  /** By name. */
  readonly nodes: ReadonlyMap<string, Pair>;
  /** By `namespace/name`, then by container. */
  readonly pods: ReadonlyMap<string, ReadonlyMap<string, Pair>>;
}

/** Timeout of a kubelet's response, ms. */
const answerMs = 5000;
/** Interval between the first two readings, ms: long enough for a rate, short enough for a waiting client. */
const secondReadingMs = 1000;

/**
 * UsageReader queries kubelets for the usage of their nodes and pods on demand, no more often than metrics-server would, and never in the
 * background. The first request, or one after a long pause, waits for two readings a second apart, since old readings would describe the
 * past.
 */
export class UsageReader {
  readonly #deps: UsageReaderDeps;
  #usage: RecordedUsage = { nodes: new Map(), pods: new Map() };
  #goodUntil = -Infinity;
  #reading: Promise<void> | undefined;

  constructor(deps: UsageReaderDeps) {
    this.#deps = deps;
  }

  /** Returns the usage of the last 15 seconds. Nodes whose kubelets do not respond are left out. */
  async usage(): Promise<RecordedUsage> {
    if (steadyNow(this.#deps.clock) >= this.#goodUntil) {
      this.#reading ??= this.#read().finally(() => (this.#reading = undefined));
      await this.#reading;
    }
    return this.#usage;
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

  /** Reports whether anything has only one reading. */
  #isHalf(): boolean {
    const { nodes, pods } = this.#usage;
    const half = (pairs: ReadonlyMap<string, Pair>): boolean =>
      [...pairs.values()].some(({ first }) => !first);
    return half(nodes) || [...pods.values()].some(half);
  }

  /** Reads every node; what is no longer reported is removed. */
  async #ask(): Promise<void> {
    const names = [...this.#deps.store.list('nodes')].map(({ key }) => key);
    const answers = await Promise.all(names.map((name) => this.#askOne(name)));
    const nodes = new Map<string, Reading>();
    const pods = new Map<string, ReadonlyMap<string, Pair>>();
    for (const [index, answer] of answers.entries()) {
      if (answer?.node) nodes.set(names[index] ?? '', answer.node);
      for (const [key, containers] of answer?.pods ?? [])
        pods.set(key, paired(this.#usage.pods.get(key), containers));
    }
    this.#usage = { nodes: paired(this.#usage.nodes, nodes), pods };
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
      logger.warn('cannot read the usage of a node', { node: name, err: messageOf(reason) });
      return undefined;
    } finally {
      stop();
    }
  }
}

const paired = (
  pairs: ReadonlyMap<string, Pair> | undefined,
  readings: ReadonlyMap<string, Reading>,
): ReadonlyMap<string, Pair> =>
  new Map([...readings].map(([key, reading]) => [key, nextPair(pairs?.get(key), reading)]));
