import { tableOf } from '../../../base/own.ts';
import { isDeepStrictEqual } from 'node:util';
import { PodManager } from '../../../pods/pod-manager.ts';
import { ApiError } from '../../../api/client.ts';
import { FakeClock } from '../../../base/fake-clock.ts';
import { silentLogger } from '../../../base/logger.ts';
import { keyOf, uidOf } from '../../../kube/names.ts';
import type { Pod, PodStatus } from '../../../kube/types.ts';
import type { StatusClient } from '../../../status/status-client.ts';
import { apiOptionalKeys } from '../compare.ts';
import type { StateMachines, StatusManagerMachine } from '../machines.ts';
import { check, type Mismatch, type Replay } from '../recording.ts';

interface Operation {
  readonly op: string;
  readonly define?: Readonly<Record<string, Pod>>;
  readonly podManagerUpdate?: readonly string[] | null;
  readonly apiSet?: string;
  readonly id?: string;
  readonly pod?: string;
  readonly pods?: readonly string[] | null;
  readonly status?: PodStatus;
  readonly uid?: string;
  readonly containerID?: string;
  readonly ready?: boolean;
  readonly started?: boolean;
  readonly podUIDs?: readonly string[] | null;
  readonly reason?: string;
  readonly message?: string;
  readonly observedGeneration?: number;
  readonly value?: boolean;
  readonly verb?: string;
  readonly clearFaults?: boolean;
}

type Expected = Readonly<Record<string, unknown>> & {
  readonly apiAfter?: readonly Pod[] | Readonly<Record<string, Pod>>;
};

interface Step {
  readonly atMs: number;
  readonly op: Operation;
  readonly expect: Expected;
}

type Action = Readonly<Record<string, unknown>>;

/** The API server of the recording: what a patch makes of an object is taken from the recording, for its bytes are compared. */
class FakeApi implements StatusClient {
  readonly objects = new Map<string, Pod>();
  readonly faults = new Set<string>();
  after: readonly Pod[] = [];
  groups: Action[][] = [];

  #record(action: Action): void {
    if (action['verb'] === 'get') this.groups.push([]);
    this.groups.at(-1)?.push(action);
  }

  #answer(action: Action, uid: string | undefined): Pod {
    const key = `${String(action['namespace'])}/${String(action['name'])}`;
    const stored = this.objects.get(key);
    const fail = (status: number, reason: string, result: string): never => {
      this.#record({ ...action, result });
      throw new ApiError(status, { reason, message: result });
    };
    if (this.faults.delete(String(action['verb']))) return fail(500, 'InternalError', 'internalError');
    if (!stored) return fail(404, 'NotFound', 'notFound');
    if (uid !== undefined && uidOf(stored) !== uid) return fail(409, 'Conflict', 'conflict');
    this.#record({ ...action, result: 'ok' });
    return stored;
  }

  async getPod(namespace: string, name: string): Promise<Pod> {
    return this.#answer({ verb: 'get', namespace, name }, undefined);
  }

  async patchStatus(namespace: string, name: string, patch: string): Promise<Pod> {
    const { uid } = (JSON.parse(patch) as { metadata: { uid: string } }).metadata;
    const patchType = 'application/strategic-merge-patch+json';
    const action = { verb: 'patch', namespace, name, subresource: 'status', patchType, patch };
    const stored = this.#answer(action, uid);
    // an object that is deleted in the same step is not in the recording; its scalars are all that matters until then
    const patched = this.after.find((pod) => keyOf(pod) === `${namespace}/${name}`) ?? {
      ...stored,
      status: { ...stored.status, ...(JSON.parse(patch) as Pod).status },
    };
    this.objects.set(keyOf(patched), patched);
    return patched;
  }

  async deletePod(namespace: string, name: string, uid: string): Promise<void> {
    const action = { verb: 'delete', namespace, name, gracePeriodSeconds: 0, preconditionUID: uid };
    this.#answer(action, uid);
    this.objects.delete(`${namespace}/${name}`);
  }

  take(): Action[] {
    const key = (group: Action[]): string =>
      `${String(group[0]?.['namespace'])}/${String(group[0]?.['name'])}`;
    const actions = this.groups.sort((a, b) => (key(a) < key(b) ? -1 : 1)).flat();
    this.groups = [];
    return actions;
  }
}

/** One history. */
class World {
  readonly clock = new FakeClock(Date.parse('2000-01-01T00:00:00Z'));
  readonly start = this.clock.now();
  readonly api = new FakeApi();
  readonly pods = new PodManager();
  readonly objects = new Map<string, Pod>();
  readonly running = new Map<string, boolean>();
  notes: string[] = [];
  readonly uids = new Set<string>();
  readonly manager: StatusManagerMachine;
  cache: Record<string, unknown> = {};
  resize: Record<string, unknown> = {};
  versions: unknown = {};

  constructor(machines: StateMachines) {
    this.manager = machines.statusManager({
      clock: this.clock,
      logger: silentLogger,
      pods: this.pods,
      deletionSafety: { podCouldHaveRunningContainers: (pod) => this.running.get(uidOf(pod)) ?? false },
      client: this.api,
      listener: {
        podUpdated: (pod, status, added) =>
          this.notes.push(`podUpdated ${uidOf(pod)} added=${added} phase=${status.phase ?? ''}`),
        podFinished: (pod, status) => this.notes.push(`podRemoved ${uidOf(pod)} phase=${status.phase ?? ''}`),
        statusSent: (pod) => this.notes.push(`latencyStatusUpdated ${uidOf(pod)}`),
        podDeleted: (uid) => this.notes.push(`latencyDelete ${uid}`),
      },
    });
  }

  object(id: string | undefined): Pod {
    const pod = this.objects.get(id ?? '');
    if (!pod) throw new Error(`the recording defines no ${String(id)}`);
    return structuredClone(pod);
  }

  async perform(op: Operation): Promise<Readonly<Record<string, unknown>>> {
    for (const [id, pod] of Object.entries(op.define ?? {})) this.objects.set(id, pod);
    if (op.clearFaults) this.api.faults.clear();
    const act = operations[op.op];
    if (!act) throw new Error(`no operation ${op.op}`);
    return (await act(this, op)) ?? {};
  }
}

type Act = (
  world: World,
  op: Operation,
) => Promise<Readonly<Record<string, unknown>> | undefined> | Readonly<Record<string, unknown>> | undefined;

const report = ({ reason = '', message = '', observedGeneration = 0 }: Operation) => ({
  reason,
  message,
  observedGeneration,
});

const operations: Readonly<Record<string, Act | undefined>> = tableOf({
  podFromSource(w, op) {
    for (const id of op.podManagerUpdate ?? []) w.pods.updatePod(w.object(id));
    if (op.apiSet === undefined) return undefined;
    const stored = w.object(op.apiSet);
    w.api.objects.set(keyOf(stored), stored);
    return undefined;
  },
  podManagerFromAPI(w, op) {
    if (op.id !== undefined) w.pods.updatePod(w.object(op.id));
    return undefined;
  },
  podManagerRemove(w, op) {
    w.pods.removePod(w.object(op.id));
    return undefined;
  },
  apiRemove(w, op) {
    w.api.objects.delete(op.pod ?? '');
    return undefined;
  },
  setCouldHaveRunning(w, op) {
    w.running.set(op.uid ?? '', op.value ?? false);
    return undefined;
  },
  failNext(w, op) {
    w.api.faults.add(op.verb ?? '');
    return undefined;
  },
  setPodStatus: (w, op) => ({ changed: w.manager.setPodStatus(w.object(op.pod), op.status ?? {}) }),
  setContainerReadiness(w, op) {
    w.manager.setContainerReadiness(op.uid ?? '', op.containerID ?? '', op.ready ?? false);
    return undefined;
  },
  setContainerStartup(w, op) {
    w.manager.setContainerStartup(op.uid ?? '', op.containerID ?? '', op.started ?? false);
    return undefined;
  },
  terminatePod(w, op) {
    w.manager.terminatePod(w.object(op.pod));
    return undefined;
  },
  removeOrphanedStatuses(w, op) {
    w.manager.removeOrphanedStatuses(new Set(op.podUIDs ?? []));
    return undefined;
  },
  setPodResizePending: (w, op) => ({ changed: w.manager.resizes.setPending(op.uid ?? '', report(op)) }),
  setPodResizeInProgress: (w, op) => ({ ...w.manager.resizes.setInProgress(op.uid ?? '', report(op)) }),
  clearPodResizePending(w, op) {
    w.manager.resizes.clearPending(op.uid ?? '');
    return undefined;
  },
  clearPodResizeInProgress: (w, op) => ({ ...w.manager.resizes.clearInProgress(op.uid ?? '') }),
  backfillPodResize(w, op) {
    w.manager.resizes.backfill((op.pods ?? []).map((id) => w.object(id)));
    return undefined;
  },
  wake: async (w) => ({ attempted: await w.manager.wake() }),
  tick: async (w) => ({ attempted: await w.manager.syncBatch(true) }),
});

/** The entries that differ from the last step; null where one is gone. */
function changes(last: Record<string, unknown>, next: Record<string, unknown>): Record<string, unknown> {
  const found: Record<string, unknown> = {};
  for (const uid of new Set([...Object.keys(last), ...Object.keys(next)]))
    if (!isDeepStrictEqual(last[uid], next[uid])) found[uid] = next[uid] ?? 'gone';
  return found;
}

function observe(w: World): Record<string, unknown> {
  const cache: Record<string, unknown> = {};
  const resize: Record<string, unknown> = {};
  for (const uid of w.uids) {
    const entry = w.manager.entry(uid);
    if (entry) {
      const { at, ...rest } = entry;
      cache[uid] = { ...rest, atMs: at - w.start };
    }
    const conditions = w.manager.resizes.conditions(uid);
    if (conditions.length > 0)
      resize[uid] = {
        conditions,
        deferred: w.manager.resizes.isDeferred(uid),
        infeasible: w.manager.resizes.isInfeasible(uid),
      };
  }
  const versions = Object.fromEntries([...w.manager.sentVersions].sort());
  const seen = {
    cache: changes(w.cache, cache),
    resize: changes(w.resize, resize),
    apiVersions: JSON.stringify(versions) === JSON.stringify(w.versions) ? undefined : versions,
    notes: w.notes.sort(),
    actions: w.api.take(),
    signal: w.manager.signalled,
  };
  w.notes = [];
  w.cache = cache;
  w.resize = resize;
  w.versions = versions;
  return seen;
}

/** Gone entries are null in a recording, which a comparison would drop. */
const withGone = (entries: unknown): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries((entries ?? {}) as Record<string, unknown>).map(([uid, entry]) => [uid, entry ?? 'gone']),
  );

/** The time of a DisruptionTarget condition in the cache changes in Go by shared memory; here it does not (FORMAT). */
function sharedMemory(expect: Expected): (path: string) => boolean {
  const cache = (expect['cache'] ?? {}) as Record<string, { status?: PodStatus } | null>;
  return (path) => {
    const at = /^\.cache\.(.+)\.status\.conditions\[(\d+)\]\.lastTransitionTime$/.exec(path);
    const condition = at && cache[at[1] ?? '']?.status?.conditions?.[Number(at[2])];
    return condition?.type === 'DisruptionTarget';
  };
}

const list = (after: Expected['apiAfter']): readonly Pod[] =>
  Array.isArray(after) ? (after as Pod[]) : Object.values(after ?? {});

export const replay: Replay = async (line, _header, machines) => {
  const w = new World(machines);
  const steps = line['steps'] as readonly Step[];
  collectUids(steps, w.uids);
  for (const [i, { atMs, op, expect }] of steps.entries()) {
    w.clock.set(w.start + atMs);
    w.api.after = list(expect.apiAfter);
    const result = await w.perform(op);
    const mismatch = compareStep(expect, { ...result, ...observe(w) }, i, op);
    if (mismatch) return mismatch;
  }
  return undefined;
};

function compareStep(
  expect: Expected,
  actual: Record<string, unknown>,
  step: number,
  operation: Operation,
): Mismatch | undefined {
  const { apiAfter: _after, ...rest } = expect;
  const expected = { ...rest, cache: withGone(rest['cache']), resize: withGone(rest['resize']) };
  const ignore = sharedMemory(expect);
  const onlyTimes = Object.keys(actual['cache'] ?? {});
  // an entry that changed in Go by shared memory alone did not change here
  for (const uid of Object.keys(expected.cache))
    if (!onlyTimes.includes(uid) && isTimesOnly(expect, uid)) delete expected.cache[uid];
  return check(expected, actual, { step, operation }, { optionalKeys: apiOptionalKeys, ignore });
}

const isTimesOnly = (expect: Expected, uid: string): boolean => {
  const entry = (expect['cache'] as Record<string, { status?: PodStatus } | null> | undefined)?.[uid];
  return entry?.status?.conditions?.some(({ type }) => type === 'DisruptionTarget') ?? false;
};

function collectUids(steps: readonly Step[], uids: Set<string>): void {
  for (const { op } of steps) {
    if (op.uid !== undefined) uids.add(op.uid);
    for (const pod of Object.values(op.define ?? {})) uids.add(uidOf(pod));
  }
}
