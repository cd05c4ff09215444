import { PodManager } from '../../../src/pods/pod-manager.ts';
import { ApiError } from '../../../src/api/client.ts';
import { FakeClock } from '../../../src/base/fake-clock.ts';
import type { LogFields, Logger } from '../../../src/base/logger.ts';
import type { Pod } from '../../../src/kube/types.ts';
import type { StatusClient } from '../../../src/status/status-client.ts';
import { StatusManager, type StatusManagerDeps } from '../../../src/status/status-manager.ts';

/** When every story begins. */
export const now = '2000-01-01T00:00:00Z';

/** A pod as the source has it. */
export const podOf = (extra: Partial<Pod['metadata']> = {}): Pod => ({
  metadata: { name: 'p', namespace: 'ns', uid: 'u', ...extra },
  spec: { restartPolicy: 'Always', containers: [{ name: 'a' }, { name: 'b' }] },
  status: { phase: 'Pending' },
});

/** Applies what the manager sends, as the API server does. */
export class Server implements StatusClient {
  pod: Pod | undefined = podOf();
  readonly bodies: string[] = [];
  failures = 0;

  #guard(): Pod {
    if (this.failures > 0) {
      this.failures--;
      throw new ApiError(500, { message: 'not now' });
    }
    if (!this.pod) throw new ApiError(404, { reason: 'NotFound' });
    return this.pod;
  }

  async getPod(): Promise<Pod> {
    return this.#guard();
  }

  async patchStatus(_namespace: string, _name: string, body: string): Promise<Pod> {
    const pod = this.#guard();
    this.bodies.push(body);
    const patch = (JSON.parse(body) as { status?: Record<string, unknown> }).status ?? {};
    this.pod = { ...pod, status: apply(pod.status ?? {}, patch) };
    return this.pod;
  }

  async deletePod(): Promise<void> {
    this.#guard();
    this.pod = undefined;
  }
}

type Json = Record<string, unknown>;
const keys: Readonly<Record<string, string>> = { conditions: 'type', podIPs: 'ip', hostIPs: 'ip' };
const isJson = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Applies a strategic merge patch. */
export function apply(target: Json, patch: Json): Json {
  const result: Json = { ...target };
  for (const [name, value] of Object.entries(patch)) {
    if (name.startsWith('$')) continue;
    const key = keys[name];
    const old = result[name];
    if (value === null) delete result[name];
    else if (key !== undefined && Array.isArray(old) && patch[`$setElementOrder/${name}`])
      result[name] = applyList(
        old as Json[],
        value as Json[],
        key,
        patch[`$setElementOrder/${name}`] as Json[],
      );
    else if (isJson(value) && isJson(old)) result[name] = apply(old, value);
    else result[name] = value;
  }
  for (const name of Object.keys(patch))
    if (name.startsWith('$setElementOrder/') && !(name.slice(17) in patch)) {
      const list = name.slice(17);
      const key = keys[list] ?? '';
      result[list] = applyList(result[list] as Json[], [], key, patch[name] as Json[]);
    }
  return result;
}

function applyList(
  old: readonly Json[],
  changes: readonly Json[],
  key: string,
  order: readonly Json[],
): Json[] {
  const byKey = new Map(old.map((item) => [item[key], item]));
  for (const change of changes)
    if (change['$patch'] === 'delete') byKey.delete(change[key]);
    else byKey.set(change[key], apply(byKey.get(change[key]) ?? {}, change));
  return order.flatMap((item) => {
    const found = byKey.get(item[key]);
    return found ? [found] : [];
  });
}

/** A status manager among fakes, and what it says. */
export interface StatusWorld {
  readonly server: Server;
  readonly pods: PodManager;
  readonly manager: StatusManager;
  readonly clock: FakeClock;
  /** Lines of the log, with their fields. */
  readonly logged: readonly (readonly [message: string, fields: LogFields | undefined])[];
  /** What the listener was told, in order. */
  readonly told: readonly (readonly unknown[])[];
}

export function world(deps: Partial<StatusManagerDeps> = {}): StatusWorld {
  const clock = new FakeClock(Date.parse(now));
  const server = new Server();
  const pods = new PodManager();
  if (server.pod) pods.updatePod(server.pod);
  const logged: [string, LogFields | undefined][] = [];
  const log = (message: string, fields?: LogFields): void => void logged.push([message, fields]);
  const logger: Logger = { debug: log, info: log, warn: log, error: log, with: () => logger };
  const told: unknown[][] = [];
  const manager = new StatusManager({
    clock,
    logger,
    pods,
    deletionSafety: { podCouldHaveRunningContainers: () => false },
    client: server,
    listener: {
      podUpdated: (pod, status, added) => void told.push(['updated', pod.metadata?.uid, status.phase, added]),
      podFinished: (pod, status) => void told.push(['finished', pod.metadata?.uid, status.phase]),
      statusSent: (pod) => void told.push(['sent', pod.metadata?.uid, pod.status?.phase]),
      podDeleted: (uid) => void told.push(['deleted', uid]),
    },
    ...deps,
  });
  return { server, pods, manager, clock, logged, told };
}
