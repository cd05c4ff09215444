import { type Clock, steadyNow } from '../../../base/clock.ts';
import { Latch } from '../../../base/latch.ts';
import { isRestartableInitContainer } from '../../../kube/restart-policy.ts';
import type { Pod } from '../../../kube/types.ts';

/**
 * R163: sidecars end after all regular containers, and in the reverse of the order in which they started. What does not run
 * counts as ended. Follows `terminationOrdering` (pkg/kubelet/kuberuntime).
 */
export class TerminationOrder {
  readonly #clock: Clock;
  readonly #ended = new Map<string, Latch>();
  readonly #before = new Map<string, readonly Latch[]>();

  constructor(pod: Pod, running: ReadonlySet<string>, clock: Clock) {
    this.#clock = clock;
    const regular = (pod.spec?.containers ?? []).map(({ name }) => this.#latch(name, running));
    let later: Latch | undefined;
    for (const container of (pod.spec?.initContainers ?? []).toReversed()) {
      const own = this.#latch(container.name, running);
      if (!isRestartableInitContainer(container)) continue;
      this.#before.set(container.name, later ? [...regular, later] : regular);
      later = own;
    }
  }

  /** Waits until it is this container's turn, for the whole grace at most. @returns seconds waited, rounded down */
  async waitForTurn(name: string, graceSeconds: number): Promise<number> {
    const before = this.#before.get(name);
    if (!before) return 0;
    const startedAt = steadyNow(this.#clock);
    const stop = new AbortController();
    const turn = Promise.all(before.map((latch) => latch.wait())).then(() => undefined);
    await Promise.race([turn, this.#clock.sleep(graceSeconds * 1000, stop.signal).catch(() => undefined)]);
    stop.abort();
    return Math.floor((steadyNow(this.#clock) - startedAt) / 1000);
  }

  /** To be told of each container that has ended. */
  ended(name: string): void {
    this.#ended.get(name)?.open();
  }

  #latch(name: string, running: ReadonlySet<string>): Latch {
    const latch = new Latch();
    if (!running.has(name)) latch.open();
    this.#ended.set(name, latch);
    return latch;
  }
}
