import { type Clock, steadyNow } from '../../../base/clock.ts';
import { Latch } from '../../../base/latch.ts';
import { isRestartableInitContainer } from '../../../kube/restart-policy.ts';
import type { Pod } from '../../../kube/types.ts';

/**
 * TerminationOrder lets sidecars end after all regular containers, in reverse order of their start (R163). Containers that do not run
 * count as ended. Follows `terminationOrdering` (pkg/kubelet/kuberuntime).
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

  /** Waits for this container's turn, at most for the grace period. @returns seconds waited, rounded down */
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

  /** Must be called when a container has ended. */
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
