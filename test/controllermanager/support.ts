import { systemClock } from '../../src/base/clock.ts';
import { EmbeddedApiServer, type EmbeddedApiServerOptions } from '../../src/apiserver/index.ts';
import { isNotFound } from '../../src/api/client.ts';
import { isConflict } from '../../src/api/client.ts';
import {
  type ControllerManagerOptions,
  type RunningControllers,
  startControllerManager,
} from '../../src/controllermanager/index.ts';
import { newClient } from '../../src/controller/client/new-client.ts';
import { kinds } from '../../src/controller/kinds.ts';
import type { Client } from '../../src/controller/types.ts';
import type { Deployment, Pod, PodTemplate } from '../../src/controllermanager/workload/types.ts';

const ends: (() => Promise<unknown>)[] = [];

/** Ends what the test has started, the last first. */
export async function endAll(): Promise<void> {
  for (const end of ends.splice(0).reverse()) await end();
}

/** Reads until the value is wanted, at most 8 s. */
export async function eventually<T>(
  read: () => T | Promise<T>,
  wanted: (value: T) => boolean = Boolean,
): Promise<T> {
  for (let left = 800; ; left--) {
    const value = await read();
    if (wanted(value)) return value;
    if (left === 0) throw new Error(`still ${JSON.stringify(value)} after 8 s`);
    await systemClock.sleep(10);
  }
}

/** How the pods of a test behave. */
export interface PodBehaviour {
  /** The status of a pod that was not started yet; undefined: it stays as it is. */
  start(pod: Pod): Pod['status'] | undefined;
}

const at = (): string => new Date(systemClock.now()).toISOString().replace(/\.\d+Z/, 'Z');

export const running = (): NonNullable<Pod['status']> => ({
  phase: 'Running',
  startTime: at(),
  podIP: '10.0.0.1',
  podIPs: [{ ip: '10.0.0.1' }],
  conditions: [{ type: 'Ready', status: 'True', lastTransitionTime: at() }],
});

export interface Cluster {
  readonly server: EmbeddedApiServer;
  readonly client: Client;
  readonly behaviour: PodBehaviour;
  readonly controllers: RunningControllers;
}

/** A server with a node, controllers, and pods that become ready at once. */
export async function cluster(
  options: Partial<ControllerManagerOptions> = {},
  serverOptions: EmbeddedApiServerOptions = {},
): Promise<Cluster & { behaviour: PodBehaviour }> {
  const server = await EmbeddedApiServer.start({ externalControllers: true, ...serverOptions });
  ends.push(() => server.stop());
  const connection = { server: server.url, ca: server.ca, cert: server.admin.cert, key: server.admin.key };
  const client = newClient(connection);
  ends.push(() => client.close());
  await client.create(kinds.Node, {
    metadata: { name: 'n1' },
    status: { conditions: [{ type: 'Ready', status: 'True' }] },
  });
  const controllers = startControllerManager({ connection, ...options });
  ends.push(() => controllers.stop());
  const result = { server, client, controllers, behaviour: { start: running } as PodBehaviour };
  const stop = new AbortController();
  const kubelet = play(client, () => result.behaviour, stop.signal);
  ends.push(async () => {
    stop.abort();
    await kubelet.catch(() => undefined);
  });
  return result;
}

/** Starts pods and ends deleted ones, as a kubelet does. */
async function play(client: Client, behaviour: () => PodBehaviour, signal: AbortSignal): Promise<void> {
  for await (const { type, object: pod } of client.watch(kinds.Pod, { signal })) {
    if (type !== 'ADDED' && type !== 'MODIFIED') continue;
    try {
      if (pod.metadata?.deletionTimestamp !== undefined) {
        const preconditions = { uid: pod.metadata.uid ?? '' };
        await client.delete(kinds.Pod, pod, { gracePeriodSeconds: 0, preconditions });
      } else if (pod.spec?.nodeName !== undefined && pod.status?.startTime === undefined) {
        const status = behaviour().start(pod);
        if (status) await client.status.update(kinds.Pod, { ...pod, status: { ...pod.status, ...status } });
      }
    } catch (reason) {
      if (!isNotFound(reason) && !isConflict(reason)) throw reason;
    }
  }
}

export const template = (app: string, image = 'image:1', more: object = {}): PodTemplate => ({
  metadata: { labels: { app } },
  spec: { containers: [{ name: 'main', image }], ...more },
});

export const deployment = (
  name: string,
  spec: Partial<NonNullable<Deployment['spec']>> = {},
): Deployment => ({
  metadata: { namespace: 'default', name },
  spec: { replicas: 3, selector: { matchLabels: { app: name } }, template: template(name), ...spec },
});

export const podsOf = async (client: Client, app: string): Promise<readonly Pod[]> =>
  client.list(kinds.Pod, { namespace: 'default', labels: { app } });
