import { settle } from '../../../base/fake-clock.ts';
import type { Pod } from '../../../kube/types.ts';
import { emptyStatus } from '../../../pleg/pod-cache.ts';
import type { SyncPodOutcome } from '../../../podworkers/pod-syncer.ts';
import type { KillPodOptions, UpdatePodOptions, UpdateType } from '../../../podworkers/updates.ts';
import type { RuntimeContainerState, RuntimePodStatus } from '../../../provider/runtime-pod.ts';
import { apiOptionalKeys } from '../compare.ts';
import type { PodWorkersMachine, StateMachines } from '../machines.ts';
import { check, type Mismatch, type Replay } from '../recording.ts';
import { labelOf, queryBits, StatusFns, staticTables, stateInWords } from '../support/pod-workers.ts';
import { containerStatusFrom } from '../support/runtime-status.ts';

interface Result {
  readonly kind:
    'ok' | 'terminal' | 'error' | 'terminalError' | 'netNotReady' | 'backoff' | 'canceled' | 'cacheError';
  readonly backoffMs?: number;
  readonly postSync?: boolean;
}

interface Op {
  readonly op: 'updatePod' | 'syncKnownPods' | 'wake' | 'finish' | 'drain';
  readonly uid: string;
  readonly type: UpdateType;
  readonly pod?: Pod;
  readonly mirrorPod?: Pod;
  readonly runningPod?: { readonly uid: string; readonly name: string; readonly namespace: string };
  readonly startTime?: number;
  readonly kill?: { evict?: boolean; grace?: number; statusFn?: string; completed?: string };
  readonly cacheGet?: 'error' | 'empty' | 'terminal' | 'running' | 'sandboxReady';
  readonly desired: readonly string[] | null;
  readonly cacheErr?: boolean;
  readonly result: Result;
  readonly results?: Readonly<Record<string, readonly Result[]>>;
}

interface Expect {
  readonly events?: readonly Readonly<Record<string, unknown>>[] | null;
  readonly state?: Readonly<Record<string, object | null>>;
  readonly query?: Readonly<Record<string, string>>;
  readonly mirrorTerminating?: Readonly<Record<string, boolean>>;
  readonly [other: string]: unknown;
}

interface History {
  readonly mode: 'step' | 'auto';
  readonly uids: readonly string[];
  readonly fullnames: readonly string[];
  readonly steps: readonly { readonly at: number; readonly op: Op; readonly expect: Expect }[];
}

export const replay: Replay = async (line, header, machines) => {
  const history = line as unknown as History;
  const bench = new Bench(history, machines, {
    resyncMs: header['resyncMs'] as number,
    backoffMs: header['backoffMs'] as number,
  });
  let state: Readonly<Record<string, object | null>> = {};
  let query = Object.fromEntries(history.uids.map((uid) => [uid, '0100000']));
  let mirrorTerminating = Object.fromEntries(history.fullnames.map((name) => [name, false]));
  for (const [step, { at, op, expect }] of history.steps.entries()) {
    bench.begin(at, op);
    await bench.perform(op);
    if (history.mode === 'auto' && op.op !== 'drain') await bench.drain();
    state = { ...state, ...expect.state };
    query = { ...query, ...expect.query };
    mirrorTerminating = { ...mirrorTerminating, ...expect.mirrorTerminating };
    const expected = { ...expect, events: expect.events?.map(enqueueClass), state, query, mirrorTerminating };
    const mismatch: Mismatch | undefined = check(
      expected,
      bench.observe(expect.events ?? []),
      { step, operation: op },
      { optionalKeys: apiOptionalKeys },
    );
    if (mismatch) return mismatch;
  }
  return undefined;
};

/** The class of an `enqueue` is a hint; its bounds count. */
function enqueueClass({ class: _, ...event }: Readonly<Record<string, unknown>>): object {
  return event;
}

interface Call {
  readonly method: string;
  readonly signal: AbortSignal;
  readonly end: PromiseWithResolvers<SyncPodOutcome>;
}

/** The workers with everything around them faked, and everything observable written down. */
class Bench {
  readonly #history: History;
  readonly #workers: PodWorkersMachine;
  readonly #fns = new StatusFns();
  readonly #turns = new Map<string, () => void>();
  readonly #calls = new Map<string, Call>();
  readonly #hasCancel = new Set<string>();
  #now = 0;
  #cacheGet: Op['cacheGet'];
  #cacheErrors = new Set<string>();
  #script = new Map<string, Result[]>();
  #events: Record<string, unknown>[] = [];
  #completed: string[] = [];
  #knownPods: object | undefined;

  constructor(
    history: History,
    machines: StateMachines,
    delays: { readonly resyncMs: number; readonly backoffMs: number },
  ) {
    this.#history = history;
    const open = (
      method: string,
      uid: string,
      details: object,
      signal: AbortSignal,
    ): Promise<SyncPodOutcome> => {
      this.#events.push({ call: method, uid, ...details });
      const end = Promise.withResolvers<SyncPodOutcome>();
      this.#calls.set(uid, { method, signal, end });
      return end.promise;
    };
    const uidOf = (pod: Pod): string => pod.metadata?.uid ?? '';
    this.#workers = machines.podWorkers(
      {
        clock: { now: () => this.#now },
        random: { float: () => 0.25, uuid: () => '', hex: () => '' },
        recorder: {
          event: (object, type, reason, message) =>
            this.#events.push({ call: 'event', uid: object.metadata?.uid, type, reason, message }),
        },
        queue: { enqueue: (uid, delayMs) => this.#events.push({ call: 'enqueue', uid, delayMs }) },
        turnGate: (uid, takeTurn) => this.#turns.set(uid, takeTurn),
        cache: {
          get: () => cached(this.#cacheGet),
          getNewerThan: async (uid, newerThan) => {
            const since = newerThan === -Infinity ? undefined : newerThan / 1000;
            this.#events.push({ call: 'cacheNewerThan', uid, since });
            if (this.#cacheErrors.delete(uid)) throw new Error('cache broke');
            return emptyStatus(uid);
          },
        },
        syncer: {
          syncPod: ({ pod, mirrorPod, updateType }, signal) => {
            const details = { v: labelOf(pod), mirror: labelOf(mirrorPod), type: updateType };
            return open('syncPod', uidOf(pod), details, signal);
          },
          syncTerminatingPod: async ({ pod, gracePeriodSeconds, statusFn }, signal) => {
            const fn = this.#fns.nameOf(statusFn);
            const details = { v: labelOf(pod), grace: gracePeriodSeconds, statusFn: fn };
            await rejecting(open('syncTerminatingPod', uidOf(pod), details, signal));
          },
          syncTerminatingRuntimePod: async ({ uid, name, namespace }, signal) => {
            await rejecting(open('syncTerminatingRuntimePod', uid, { name, namespace }, signal));
          },
          syncTerminatedPod: async ({ pod }, signal) => {
            await rejecting(open('syncTerminatedPod', uidOf(pod), { v: labelOf(pod) }, signal));
          },
        },
      },
      delays,
    );
  }

  begin(at: number, op: Op): void {
    this.#now = at * 1000;
    this.#cacheGet = op.cacheGet;
    this.#script = new Map(Object.entries(op.results ?? {}).map(([uid, results]) => [uid, [...results]]));
    this.#events = [];
    this.#completed = [];
    this.#knownPods = undefined;
  }

  async perform(op: Op): Promise<void> {
    switch (op.op) {
      case 'updatePod':
        this.#workers.updatePod(this.#options(op));
        break;
      case 'syncKnownPods':
        this.#knownPods = Object.fromEntries(
          this.#workers.syncKnownPods((op.desired ?? []).map((uid) => ({ metadata: { uid } }))),
        );
        break;
      case 'wake':
        if (op.cacheErr) this.#cacheErrors.add(op.uid);
        await this.#wake(op.uid);
        this.#cacheErrors.clear();
        break;
      case 'finish':
        await this.#finish(op.uid, op.result);
        break;
      case 'drain':
        await this.drain();
    }
    await settle();
  }

  async drain(): Promise<void> {
    for (let busy = true; busy;) {
      busy = false;
      for (const uid of this.#history.uids) while (await this.#advance(uid)) busy = true;
    }
  }

  async #advance(uid: string): Promise<boolean> {
    const script = this.#script.get(uid) ?? [];
    if (this.#calls.has(uid)) {
      while (script[0]?.kind === 'cacheError') script.shift();
      await this.#finish(uid, script.shift() ?? { kind: 'ok' });
      return true;
    }
    if (!this.#workers.hasToken(uid)) return false;
    if (script[0]?.kind === 'cacheError') this.#cacheErrors.add(uid);
    await this.#wake(uid);
    if (script[0]?.kind === 'cacheError' && !this.#cacheErrors.has(uid)) script.shift();
    this.#cacheErrors.clear();
    return true;
  }

  async #wake(uid: string): Promise<void> {
    if (this.#workers.stateOf(uid)?.pending) this.#hasCancel.add(uid);
    const turn = this.#turns.get(uid);
    this.#turns.delete(uid);
    turn?.();
    await settle();
  }

  async #finish(uid: string, result: Result): Promise<void> {
    const call = this.#calls.get(uid);
    this.#calls.delete(uid);
    call?.end.resolve(this.#outcome(call.method, uid, result));
    await settle();
  }

  #outcome(method: string, uid: string, { kind, backoffMs, postSync }: Result): SyncPodOutcome {
    const error = this.#error(kind, backoffMs ?? 0);
    return {
      terminal: kind === 'terminal' || kind === 'terminalError',
      ...(error && { error }),
      ...(postSync &&
        method === 'syncPod' && { postSync: () => this.#events.push({ call: 'postSync', uid }) }),
    };
  }

  #error(kind: Result['kind'], backoffMs: number): Error | undefined {
    switch (kind) {
      case 'ok':
      case 'terminal':
      case 'cacheError':
        return undefined;
      case 'error':
      case 'terminalError':
        return new Error('broke');
      case 'netNotReady':
        return new Error('network is not ready: for now');
      case 'canceled':
        return new Error('stopped', { cause: new DOMException('aborted', 'AbortError') });
      case 'backoff':
        return Object.assign(new Error('back-off'), { backOffUntil: this.#now + backoffMs });
    }
  }

  #options(op: Op): UpdatePodOptions {
    const { kill } = op;
    const killOptions: KillPodOptions | undefined = kill && {
      ...(kill.evict !== undefined && { evict: kill.evict }),
      ...(kill.grace !== undefined && { gracePeriodSeconds: kill.grace }),
      ...(kill.statusFn !== undefined && { statusFn: this.#fns.named(kill.statusFn) }),
      ...(kill.completed !== undefined && { completed: this.#completion(kill.completed) }),
    };
    return {
      type: op.type,
      ...(op.pod && { pod: op.pod }),
      ...(op.mirrorPod && { mirrorPod: op.mirrorPod }),
      ...(op.runningPod && { runningPod: { ...op.runningPod, containers: [], sandboxes: [] } }),
      ...(op.startTime !== undefined && { startTime: op.startTime * 1000 }),
      ...(killOptions && { kill: killOptions }),
    };
  }

  #completion(name: string): () => void {
    return () => this.#completed.push(name);
  }

  /** Everything that a step shows, in the words of the recordings. */
  observe(expectedEvents: readonly Readonly<Record<string, unknown>>[]): object {
    const state: Record<string, unknown> = {};
    for (const uid of this.#history.uids) {
      const present = this.#workers.stateOf(uid);
      if (!present) this.#hasCancel.delete(uid);
      const call = this.#calls.get(uid);
      state[uid] = present && {
        ...stateInWords(present, this.#fns),
        token: this.#workers.hasToken(uid),
        inCall: call?.method,
        callCancelled: call?.signal.aborted,
        hasCancel: this.#hasCancel.has(uid),
      };
    }
    const { uids, fullnames } = this.#history;
    return {
      events: this.#events.map((event, i) => withinBounds(event, expectedEvents[i])),
      completed: this.#completed.toSorted(),
      known: this.#knownPods,
      state,
      query: Object.fromEntries(uids.map((uid) => [uid, queryBits(this.#workers, uid)])),
      mirrorTerminating: Object.fromEntries(
        fullnames.map((name) => [name, this.#workers.isPodForMirrorPodTerminatingByFullName(name)]),
      ),
      ...staticTables(this.#workers),
    };
  }
}

/** An `enqueue` whose delay is the recorded one made longer by a quarter (half the jitter's bound) shows the recorded bounds. */
function withinBounds(
  event: Record<string, unknown>,
  expected: Readonly<Record<string, unknown>> | undefined,
): object {
  if (event['call'] !== 'enqueue') return event;
  const { delayMs, ...rest } = event;
  const delay = delayMs as number;
  const { minMs, maxMs } = (expected ?? {}) as { minMs?: number; maxMs?: number };
  const base = delay / 1.125;
  const same = minMs !== undefined && maxMs !== undefined && Math.abs(base - minMs) < 1e-6 && delay <= maxMs;
  return { ...rest, minMs: same ? minMs : base, maxMs: same ? maxMs : base * 1.5 };
}

async function rejecting(outcome: Promise<SyncPodOutcome>): Promise<void> {
  const { error } = await outcome;
  if (error) throw error;
}

function cached(answer: Op['cacheGet']): RuntimePodStatus {
  const container = (state: RuntimeContainerState) =>
    containerStatusFrom({ id: `t://${state}`, name: state, state });
  const sandbox = (state: 'SANDBOX_READY' | 'SANDBOX_NOTREADY') =>
    ({ id: 's', state, attempt: 0, createdAt: 0, networkMode: 'POD' }) as const;
  switch (answer) {
    case undefined:
    case 'error':
      throw new Error('cache broke');
    case 'empty':
      return emptyStatus('u');
    case 'terminal':
      return {
        ...emptyStatus('u'),
        containerStatuses: [container('exited')],
        sandboxStatuses: [sandbox('SANDBOX_NOTREADY')],
      };
    case 'running':
      return { ...emptyStatus('u'), containerStatuses: [container('exited'), container('running')] };
    case 'sandboxReady':
      return { ...emptyStatus('u'), sandboxStatuses: [sandbox('SANDBOX_READY')] };
  }
}
