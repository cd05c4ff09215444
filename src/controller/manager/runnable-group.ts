import { isAborted } from '../../base/abort.ts';

/** A part of a manager as a group runs it. */
export interface Member {
  readonly name: string;
  /** Runs until `signal` aborts. */
  run(signal: AbortSignal): Promise<void>;
  /** Resolves when it is ready for what depends on it. Absent: at once. */
  ready?(signal: AbortSignal): Promise<void>;
}

/**
 * RunnableGroup starts and stops the members of one stage. Members that are added later start at once while it runs. After
 * controller-runtime's `runnableGroup`.
 */
export class RunnableGroup {
  readonly #onError: (reason: unknown, name: string) => void;
  readonly #waiting: Member[] = [];
  readonly #running = new Set<Promise<void>>();
  readonly #stop = new AbortController();
  #started = false;

  /** @param onError receives the failure of each member; what follows from an abort is none */
  constructor(onError: (reason: unknown, name: string) => void) {
    this.#onError = onError;
  }

  /** The signal that ends the members. */
  get signal(): AbortSignal {
    return this.#stop.signal;
  }

  /** Adds a member. Returns false once the group is stopping. */
  add(member: Member): boolean {
    if (isAborted(this.#stop.signal)) return false;
    if (this.#started) void this.#run(member);
    else this.#waiting.push(member);
    return true;
  }

  /** Starts the members and resolves when all are ready. @throws when one fails before that */
  async start(): Promise<void> {
    if (this.#started || isAborted(this.#stop.signal)) return;
    this.#started = true;
    await Promise.all(this.#waiting.splice(0).map((member) => this.#run(member)));
  }

  /** Aborts the members. */
  abort(reason?: unknown): void {
    this.#stop.abort(reason);
  }

  /** Stops the members and resolves when they have ended. */
  async stop(): Promise<void> {
    this.abort();
    while (this.#running.size > 0) await Promise.all(this.#running);
  }

  /** The number of members that have not ended. */
  get size(): number {
    return this.#running.size;
  }

  /** Runs a member; resolves when it is ready. */
  async #run(member: Member): Promise<void> {
    const { signal } = this.#stop;
    const running: Promise<void> = Promise.resolve()
      .then(() => member.run(signal))
      .catch((reason: unknown) => {
        if (!isAborted(signal) || reason !== signal.reason) this.#onError(reason, member.name);
      })
      .finally(() => {
        this.#running.delete(running);
      });
    this.#running.add(running);
    if (!member.ready) return;
    try {
      await member.ready(signal);
    } catch (reason) {
      if (!isAborted(signal)) throw reason;
    }
  }
}
