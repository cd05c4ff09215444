import type { Runnable } from '../runnable.ts';
import { type Member, RunnableGroup } from './runnable-group.ts';

/** The stages of a manager, in the order in which they start. */
const stages = ['httpServers', 'webhooks', 'caches', 'others', 'warmup', 'leaderElection'] as const;
export type Stage = (typeof stages)[number];

/** Runnables are the parts of a manager by stage. They start in this order and stop in the reverse one. */
export class Runnables {
  readonly #groups: Readonly<Record<Stage, RunnableGroup>>;

  constructor(onError: (reason: unknown, name: string) => void) {
    const group = (): RunnableGroup => new RunnableGroup(onError);
    this.#groups = {
      httpServers: group(),
      webhooks: group(),
      caches: group(),
      others: group(),
      warmup: group(),
      leaderElection: group(),
    };
  }

  /** Adds a part to a stage. Returns false when that is stopping. */
  add(stage: Stage, member: Member): boolean {
    return this.#groups[stage].add(member);
  }

  /** Adds what a user runs: it needs leadership unless it says otherwise. */
  addRunnable(runnable: Runnable, name: string): boolean {
    if (runnable.warmup !== undefined && !this.#groups.warmup.add(prepared(runnable, name))) return false;
    const stage = (runnable.needLeaderElection ?? true) ? 'leaderElection' : 'others';
    return this.#groups[stage].add({ name, run: (signal) => runnable.start(signal) });
  }

  /** Starts a stage and resolves when its parts are ready. */
  start(stage: Stage): Promise<void> {
    return this.#groups[stage].start();
  }

  /** Aborts the parts of a stage without waiting. */
  abort(stage: Stage, reason?: unknown): void {
    this.#groups[stage].abort(reason);
  }

  /** Stops the stages one after the other, the last first. @param onStage is called before each */
  async stop(onStage: (stage: Stage) => void): Promise<void> {
    for (const stage of stages.toReversed()) {
      onStage(stage);
      await this.#groups[stage].stop();
    }
  }

  /** Aborts all stages at once. */
  abortAll(reason?: unknown): void {
    for (const stage of stages.toReversed()) this.#groups[stage].abort(reason);
  }
}

/** Prepares a runnable; the stage is ready when it is prepared. */
function prepared(runnable: Runnable, name: string): Member {
  const done = Promise.withResolvers<undefined>();
  done.promise.catch(() => undefined);
  return {
    name: `warm-up of ${name}`,
    run: async (signal) => {
      try {
        await runnable.warmup?.(signal);
      } finally {
        done.resolve(undefined);
      }
    },
    ready: () => done.promise,
  };
}
