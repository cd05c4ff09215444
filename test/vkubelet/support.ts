import type { Pod, PodStatus } from '../../src/kube/types.ts';
import { HandlerProvider, type HandlerProviderDeps } from '../../src/vkubelet/handler-provider.ts';
import type { AnyProvider } from '../../src/vkubelet/contract.ts';
import { notFoundError } from '../../src/vkubelet/errors.ts';
import { silentLogger } from '../../src/base/logger.ts';
import { PodNode } from '../support/pod-node.ts';

/** The six methods. */
export type Method = 'createPod' | 'updatePod' | 'deletePod' | 'getPod' | 'getPodStatus' | 'getPods';

/** A backend with pods by name, as most virtual-kubelet providers have: each call can be made to fail, hang or come late. */
export class Backend {
  readonly pods = new Map<string, Pod>();
  readonly calls: string[] = [];
  /** What a method does instead, for as long as it is set; what it would have done comes as the last argument. */
  readonly instead: Partial<Record<Method, (...args: readonly never[]) => unknown>> = {};
  /** Ends pods at once when they are deleted; else they run on until {@link end}. */
  endsAtOnce = true;
  notify: ((pod: Pod) => void) | undefined;

  readonly #key = ({ metadata }: Pod): string => `${metadata?.namespace}/${metadata?.name}`;

  counts(method: Method): number {
    return this.calls.filter((call) => call.startsWith(`${method} `)).length;
  }

  set(key: string, change: (status: PodStatus) => PodStatus, tell = true): void {
    const pod = this.pods.get(key);
    if (!pod) throw new Error(`the backend has no pod ${key}`);
    const next = { ...pod, status: change(pod.status ?? {}) };
    this.pods.set(key, next);
    if (tell) this.notify?.(next);
  }

  /** The containers of a pod end. */
  end(
    key: string,
    exitCode: number,
    phase: PodStatus['phase'] = exitCode === 0 ? 'Succeeded' : 'Failed',
  ): void {
    this.set(key, (status) => ({ ...status, ...endedStatus(status, exitCode), phase }));
  }

  handler(notifies: boolean): AnyProvider {
    const call = <T>(method: Method, args: readonly unknown[], name: string, act: () => T): T => {
      this.calls.push(`${method} ${name}`);
      const { [method]: instead } = this.instead;
      return (instead ? (instead as (...all: readonly unknown[]) => unknown)(...args, act) : act()) as T;
    };
    return {
      createPod: async (pod, context) =>
        call('createPod', [pod, context], pod.metadata?.name ?? '', async () => {
          this.add(pod);
        }),
      updatePod: async (pod, context) =>
        call('updatePod', [pod, context], pod.metadata?.name ?? '', async () => {
          const before = this.pods.get(this.#key(pod));
          this.pods.set(this.#key(pod), { ...pod, status: before?.status ?? {} });
        }),
      deletePod: async (pod, context) =>
        call('deletePod', [pod, context], pod.metadata?.name ?? '', async () => {
          this.remove(pod);
        }),
      getPod: async (namespace, name, context) =>
        call('getPod', [namespace, name, context], name, async () => this.pods.get(`${namespace}/${name}`)),
      getPodStatus: async (namespace, name, context) =>
        call('getPodStatus', [namespace, name, context], name, async () => {
          const pod = this.pods.get(`${namespace}/${name}`);
          if (!pod) throw notFoundError(`no pod ${name}`);
          return pod.status;
        }),
      getPods: async (context) => call('getPods', [context], '', async () => [...this.pods.values()]),
      ...(notifies && {
        notifyPods: (notify: (pod: Pod) => void) => {
          this.notify = notify;
        },
      }),
    };
  }

  add(pod: Pod): void {
    const made = { ...pod, status: runningStatus(pod) };
    this.pods.set(this.#key(pod), made);
    this.notify?.(made);
  }

  remove(pod: Pod): void {
    const key = this.#key(pod);
    const found = this.pods.get(key);
    if (!found) throw notFoundError('no such pod');
    if (!this.endsAtOnce) return;
    this.pods.delete(key);
    this.notify?.({
      ...found,
      status: { ...found.status, ...endedStatus(found.status ?? {}, 143), phase: 'Failed' },
    });
  }
}

export const runningStatus = (pod: Pod): PodStatus => ({
  phase: 'Running',
  podIP: '198.51.100.4',
  hostIP: '203.0.113.1',
  startTime: '2026-03-04T05:06:07Z',
  conditions: [{ type: 'Ready', status: 'True' }],
  containerStatuses: (pod.spec?.containers ?? []).map(({ name, image = '' }) => ({
    name,
    image,
    imageID: '',
    ready: true,
    restartCount: 0,
    state: { running: { startedAt: '2026-03-04T05:06:07Z' } },
  })),
});

const endedStatus = (status: PodStatus, exitCode: number): Partial<PodStatus> => ({
  containerStatuses: (status.containerStatuses ?? []).map((one) => ({
    ...one,
    ready: false,
    state: { terminated: { exitCode, reason: exitCode === 0 ? 'Completed' : 'Error' } },
  })),
});

/** A node over a backend. */
export interface Bed {
  readonly node: PodNode;
  readonly backend: Backend;
  /** The provider of the present life of the agent. */
  provider(): HandlerProvider;
  stop(): Promise<void>;
}

export async function bedOf(
  notifies: boolean,
  more: Partial<HandlerProviderDeps> = {},
  backend = new Backend(),
): Promise<Bed> {
  let current: HandlerProvider | undefined;
  const node = new PodNode(({ clock, recorder }) => {
    current?.stop();
    current = new HandlerProvider({
      handler: backend.handler(notifies),
      name: 'test',
      clock,
      recorder,
      logger: silentLogger,
      ...more,
    });
    current.start();
    return current;
  });
  await node.start();
  return {
    node,
    backend,
    provider: () => current!,
    stop: async () => {
      await node.stop();
      current?.stop();
    },
  };
}
