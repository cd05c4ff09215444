import { FakeClock, settle } from '../../src/base/fake-clock.ts';
import type { Pod } from '../../src/kube/types.ts';
import { emptyStatus } from '../../src/pleg/pod-cache.ts';
import { DueQueue } from '../../src/podworkers/due-queue.ts';
import type { SyncPodOutcome } from '../../src/podworkers/pod-syncer.ts';
import { PodWorkers, type PodWorkersOptions } from '../../src/podworkers/pod-workers.ts';
import type { RuntimePodStatus } from '../../src/provider/runtime-pod.ts';

/** A step that is open until the test ends it. */
export interface OpenStep {
  readonly uid: string;
  readonly method: 'syncPod' | 'syncTerminatingPod' | 'syncTerminatingRuntimePod' | 'syncTerminatedPod';
  readonly gracePeriodSeconds: number | undefined;
  readonly signal: AbortSignal;
  end(outcome: Partial<SyncPodOutcome>): void;
}

/** How a test wants a step to end. */
export type Ending = 'ok' | 'terminal' | 'error';

/** Pod workers whose every turn and step waits for the test. */
export class WorkersBench {
  readonly clock = new FakeClock(1_000_000);
  readonly queue = new DueQueue(this.clock);
  readonly log: string[] = [];
  readonly events: string[] = [];
  readonly delays: number[] = [];
  readonly turns = new Map<string, () => void>();
  readonly steps = new Map<string, OpenStep>();
  onStep: (step: OpenStep) => void = () => undefined;
  runtimeStatus: (uid: string) => RuntimePodStatus = emptyStatus;
  readonly options: PodWorkersOptions;
  workers: PodWorkers;

  constructor(options: PodWorkersOptions = {}) {
    this.options = options;
    this.workers = this.#start();
  }

  /** The agent ends and starts again with an empty memory; the runtime stays as it is. */
  restart(): void {
    this.workers.close();
    this.turns.clear();
    this.steps.clear();
    this.workers = this.#start();
  }

  #start(): PodWorkers {
    const rejecting = async (outcome: Promise<SyncPodOutcome>): Promise<void> => {
      const { error } = await outcome;
      if (error) throw error;
    };
    const uidOf = (pod: Pod): string => pod.metadata?.uid ?? '';
    return new PodWorkers(
      {
        clock: this.clock,
        random: { float: () => 0.5, uuid: () => '', hex: () => '' },
        recorder: {
          event: (_object, type, reason, message) => this.events.push(`${type} ${reason} ${message}`),
        },
        queue: {
          enqueue: (uid, delayMs) => {
            this.delays.push(delayMs);
            this.queue.enqueue(uid, delayMs);
          },
        },
        turnGate: (uid, takeTurn) => this.turns.set(uid, takeTurn),
        cache: {
          get: (uid) => this.runtimeStatus(uid),
          getNewerThan: async (uid) => this.runtimeStatus(uid),
        },
        syncer: {
          syncPod: ({ pod }, signal) => this.#open('syncPod', uidOf(pod), signal),
          syncTerminatingPod: ({ pod, gracePeriodSeconds }, signal) =>
            rejecting(this.#open('syncTerminatingPod', uidOf(pod), signal, gracePeriodSeconds)),
          syncTerminatingRuntimePod: ({ uid }, signal) =>
            rejecting(this.#open('syncTerminatingRuntimePod', uid, signal)),
          syncTerminatedPod: ({ pod }, signal) =>
            rejecting(this.#open('syncTerminatedPod', uidOf(pod), signal)),
        },
      },
      this.options,
    );
  }

  #open(
    method: OpenStep['method'],
    uid: string,
    signal: AbortSignal,
    gracePeriodSeconds?: number,
  ): Promise<SyncPodOutcome> {
    const { promise, resolve } = Promise.withResolvers<SyncPodOutcome>();
    if (this.steps.has(uid)) throw new Error(`two steps of ${uid} overlap`);
    const step: OpenStep = {
      uid,
      method,
      gracePeriodSeconds,
      signal,
      end: (outcome) => {
        resolve({ terminal: false, ...outcome });
      },
    };
    this.log.push(`${uid} ${method}`);
    this.steps.set(uid, step);
    this.onStep(step);
    return promise;
  }

  /** The worker of `uid` takes its turn, if one is due. */
  async turn(uid: string): Promise<boolean> {
    const takeTurn = this.turns.get(uid);
    this.turns.delete(uid);
    takeTurn?.();
    await settle();
    return takeTurn !== undefined;
  }

  /** Ends the open step of `uid`, if there is one. */
  async finish(uid: string, ending: Ending): Promise<boolean> {
    const step = this.steps.get(uid);
    this.steps.delete(uid);
    step?.end({ terminal: ending === 'terminal', ...(ending === 'error' && { error: new Error('broke') }) });
    await settle();
    return step !== undefined;
  }

  /** Everything succeeds until nothing is left to do. */
  async drain(): Promise<void> {
    for (let busy = true; busy;) {
      busy = false;
      for (const uid of [...this.steps.keys()]) busy = (await this.finish(uid, 'ok')) || busy;
      for (const uid of [...this.turns.keys()]) busy = (await this.turn(uid)) || busy;
    }
  }
}

/** A pod as tests want it. */
export interface TestPod {
  readonly uid: string;
  readonly name?: string;
  readonly isStatic?: boolean;
  readonly phase?: 'Pending' | 'Running' | 'Succeeded' | 'Failed';
  readonly deletionGracePeriodSeconds?: number;
  readonly terminationGracePeriodSeconds?: number;
}

export function testPod(options: TestPod): Pod {
  const { uid, name = uid, phase = 'Running', deletionGracePeriodSeconds, isStatic = false } = options;
  return {
    metadata: {
      uid,
      name,
      namespace: 'ns',
      annotations: { 'kubernetes.io/config.source': isStatic ? 'file' : 'api' },
      ...(deletionGracePeriodSeconds !== undefined && {
        deletionTimestamp: '2026-01-01T00:00:00Z',
        deletionGracePeriodSeconds,
      }),
    },
    spec: {
      containers: [{ name: 'c' }],
      terminationGracePeriodSeconds: options.terminationGracePeriodSeconds ?? 30,
    },
    status: { phase },
  };
}
