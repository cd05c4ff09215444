import { expect, test } from 'vitest';
import { runProviderClauses } from '../../../src/conformance/index.ts';
import {
  emptyPodStatus,
  type PodProvider,
  type RuntimeContainerStatus,
  type RuntimePodStatus,
  type SyncPodRequest,
} from '../../../src/provider/index.ts';
import type { MemoryProvider } from '../../../src/providers/memory/index.ts';
import { memoryWorld } from '../memory-world.ts';

type Change = (memory: MemoryProvider, life: number) => Partial<PodProvider>;

const ofStatus =
  (change: (status: RuntimePodStatus) => RuntimePodStatus): Change =>
  (m) => ({ getPodStatus: async (ref) => change(await m.getPodStatus(ref)) });

const ofContainers = (change: (status: RuntimeContainerStatus) => RuntimeContainerStatus): Change =>
  ofStatus((status) => ({ ...status, containerStatuses: status.containerStatuses.map(change) }));

/** IDs are the same wherever a container shows. */
const ofIds =
  (change: (id: string) => string): Change =>
  (m) => ({
    ...ofContainers((one) => ({ ...one, id: change(one.id) }))(m, 0),
    listPods: async () =>
      (await m.listPods()).map((pod) => ({
        ...pod,
        containers: pod.containers.map((one) => ({ ...one, id: change(one.id) })),
      })),
  });

const withSpec = (request: SyncPodRequest, spec: object): SyncPodRequest =>
  ({ ...request, pod: { ...request.pod, spec: { ...request.pod.spec, ...spec } } }) as SyncPodRequest;

/** What is broken, the clause that catches it, and how it is broken. */
const mutants: readonly (readonly [what: string, clause: string, change: Change])[] = [
  [
    'starts the first container only',
    'starts-every-container',
    (m) => ({
      syncPod: (r, s) => m.syncPod(withSpec(r, { containers: r.pod.spec?.containers.slice(0, 1) }), s),
    }),
  ],
  [
    'runs a pod twice',
    'starts-once',
    (m, life) => ({
      syncPod: async (r, s) => {
        if (life === 0 && r.observed.containerStatuses.length > 0)
          m.endContainer(r.pod.metadata?.uid ?? '', 'main', 0);
        return m.syncPod(r, s);
      },
    }),
  ],
  [
    'forgets pods in its listing',
    'lists-its-pods',
    (m) => ({ listPods: async () => (await m.listPods()).slice(0, 1) }),
  ],
  [
    'lists pods by another name',
    'lists-its-pods',
    (m) => ({
      listPods: async () => (await m.listPods()).map((pod) => ({ ...pod, name: pod.uid })),
    }),
  ],
  [
    'lists containers in another state',
    'listing-and-status-agree',
    (m) => ({
      listPods: async () =>
        (await m.listPods()).map((pod) => ({
          ...pod,
          containers: pod.containers.map((one) => ({ ...one, state: 'unknown' as const })),
        })),
    }),
  ],
  [
    'mixes two pods of one name',
    'keeps-pods-of-one-name-apart',
    (m) => ({
      killPod: async (pod, running, grace, signal) => {
        for (const one of await m.listPods())
          if (one.name === running.name) await m.killPod(pod, one, grace, signal);
      },
    }),
  ],
  [
    'has no word on unknown pods',
    'unknown-pod-is-empty',
    (m) => ({
      getPodStatus: async (ref) => {
        const listed = (await m.listPods()).some(({ uid }) => uid === ref.uid);
        if (!listed) throw new Error('no such pod');
        return m.getPodStatus(ref);
      },
    }),
  ],
  ['has bare container IDs', 'container-ids-name-the-provider', ofIds((id) => id.replace('memory://', ''))],
  ['has one ID for all', 'container-ids-name-the-provider', ofIds(() => 'memory://1')],
  ['has no addresses', 'address-while-it-runs', ofStatus((status) => ({ ...status, ips: [] }))],
  ['forgets a kill', 'kill-stops-everything', () => ({ killPod: async () => undefined })],
  [
    'leaves the sandbox',
    'kill-stops-the-sandbox',
    ofStatus((status) => ({
      ...status,
      sandboxStatuses: status.sandboxStatuses.map((one) => ({ ...one, state: 'SANDBOX_READY' as const })),
    })),
  ],
  [
    'resolves a kill early',
    'kill-waits',
    (m) => ({
      killPod: async (...call) => {
        const killed = m.killPod(...call);
        killed.catch(() => undefined);
        await Promise.race([killed, new Promise((resolve) => setImmediate(resolve))]);
      },
    }),
  ],
  [
    'ignores the grace period',
    'grace-period-is-granted',
    (m) => ({
      killPod: (pod, running, _grace, signal) => m.killPod(pod, running, 0, signal),
    }),
  ],
  [
    'grants more than the grace period',
    'grace-period-ends',
    (m) => ({
      killPod: (pod, running, grace, signal) => m.killPod(pod, running, (grace ?? 30) + 60, signal),
    }),
  ],
  [
    'refuses to kill what has stopped',
    'kill-is-repeatable',
    (m) => ({
      killPod: async (pod, running, grace, signal) => {
        if (!running.containers.some(({ state }) => state === 'running')) throw new Error('not found');
        await m.killPod(pod, running, grace, signal);
      },
    }),
  ],
  [
    'needs the pod to kill it',
    'kill-without-the-pod',
    (m) => ({
      killPod: async (pod, running, grace, signal) => {
        if (pod) await m.killPod(pod, running, grace, signal);
      },
    }),
  ],
  [
    'forgets what it has stopped',
    'stopped-pods-stay-readable',
    (m) => ({
      killPod: async (pod, running, grace, signal) => {
        await m.killPod(pod, running, grace, signal);
        m.removeDeadContainers(running.uid, true);
      },
    }),
  ],
  [
    'invents exit code 0',
    'exit-codes-are-real',
    ofContainers((one) => ({ ...one, exitCode: one.exitCode === 137 ? 137 : 0 })),
  ],
  [
    'restarts whatever has ended',
    'never-means-never',
    (m) => ({
      syncPod: (r, s) =>
        m.syncPod(
          withSpec(r, {
            restartPolicy: r.pod.spec?.restartPolicy === 'Never' ? 'Always' : r.pod.spec?.restartPolicy,
          }),
          s,
        ),
    }),
  ],
  [
    'restarts what has succeeded',
    'success-ends-on-failure',
    (m) => ({
      syncPod: (r, s) =>
        m.syncPod(
          withSpec(r, {
            restartPolicy: r.pod.spec?.restartPolicy === 'OnFailure' ? 'Always' : r.pod.spec?.restartPolicy,
          }),
          s,
        ),
    }),
  ],
  [
    'never restarts',
    'always-restarts',
    (m) => ({ syncPod: (r, s) => m.syncPod(withSpec(r, { restartPolicy: 'Never' }), s) }),
  ],
  [
    'counts restarts twice',
    'always-restarts',
    ofContainers((one) => ({ ...one, restartCount: one.restartCount * 2 })),
  ],
  [
    'keeps its back-off to itself',
    'crashes-back-off',
    (m) => ({
      syncPod: async (r, s) => {
        const { backOffUntil: _, ...result } = await m.syncPod(r, s);
        return result;
      },
    }),
  ],
  [
    'says that it ended before it began',
    'times-are-in-order',
    ofContainers((one) => ({
      ...one,
      ...(one.finishedAt !== undefined && { finishedAt: 1 }),
    })),
  ],
  [
    'reports running before the start',
    'running-only-once-started',
    ofContainers((one) => ({
      ...one,
      state: one.state === 'created' ? 'running' : one.state,
    })),
  ],
  ['tells no changes', 'changes-are-told', () => ({ onPodEvent: () => () => undefined })],
  [
    'does not unsubscribe',
    'changes-are-told',
    (m) => ({
      onPodEvent: (listener) => {
        m.onPodEvent(listener);
        return () => undefined;
      },
    }),
  ],
  [
    'loses its identity in statuses',
    'status-is-of-the-pod',
    ofStatus((status) => ({
      ...status,
      name: status.containerStatuses.length > 0 ? 'other' : status.name,
    })),
  ],
  [
    'does not wait for init containers',
    'init-runs-first',
    (m) => ({
      syncPod: (r, s) =>
        m.syncPod(
          withSpec(r, {
            initContainers: [],
            containers: [...(r.pod.spec?.initContainers ?? []), ...(r.pod.spec?.containers ?? [])],
          }),
          s,
        ),
    }),
  ],
  [
    'goes on after a failed init container',
    'failed-init-holds-the-pod',
    (m) => ({
      syncPod: (r, s) =>
        m.syncPod(
          r.observed.containerStatuses.some(({ exitCode, state }) => state === 'exited' && exitCode === 1)
            ? withSpec(r, { initContainers: [] })
            : r,
          s,
        ),
    }),
  ],
  [
    'has no sidecars',
    'sidecars-run-along',
    (m) => ({
      syncPod: (r, s) =>
        m.syncPod(
          withSpec(r, {
            initContainers: r.pod.spec?.initContainers?.filter(({ restartPolicy }) => !restartPolicy),
          }),
          s,
        ),
    }),
  ],
  [
    'lists nothing on an error',
    'failed-listing-is-an-error',
    (m) => ({ listPods: () => m.listPods().catch(() => []) }),
  ],
  [
    'shows an empty status on an error',
    'failed-status-is-an-error',
    (m) => ({
      getPodStatus: (ref) => m.getPodStatus(ref).catch(() => emptyPodStatus(ref)),
    }),
  ],
  [
    'loses a kill that fails',
    'failed-kill-is-an-error',
    (m) => ({ killPod: (...call) => m.killPod(...call).catch(() => undefined) }),
  ],
  [
    'leaks at a restart',
    'pods-survive-a-restart',
    (_m, life) => (life === 0 ? {} : { listPods: async () => [] }),
  ],
  [
    'answers exec without running it',
    'exec-runs-where-it-says',
    () => ({
      execSync: async () => ({ exitCode: 0, stdout: Buffer.alloc(0), stderr: Buffer.alloc(0) }),
    }),
  ],
  ['has no usage', 'usage-of-what-runs', () => ({ listUsage: async () => [] })],
];

/** Clauses that a mutant breaks as well, since its fault is theirs too. */
const also: Readonly<Record<string, readonly string[]>> = {
  'forgets a kill': [
    'kill-stops-the-sandbox',
    'kill-waits',
    'grace-period-is-granted',
    'grace-period-ends',
    'kill-without-the-pod',
    'failed-kill-is-an-error',
    'exec-runs-where-it-says',
  ],
  'forgets what it has stopped': ['grace-period-is-granted', 'grace-period-ends'],
  'invents exit code 0': ['grace-period-is-granted'],
  'never restarts': ['crashes-back-off'],
  'does not wait for init containers': ['failed-init-holds-the-pod'],
};

const broken = (memory: MemoryProvider, members: Partial<PodProvider>): PodProvider =>
  new Proxy<PodProvider>(memory, {
    get(of, name) {
      if (Object.hasOwn(members, name)) return members[name as keyof PodProvider];
      const value: unknown = Reflect.get(of, name, of);
      return typeof value === 'function' ? (value.bind(of) as unknown) : value;
    },
  });

test.for(mutants)(
  'a provider that %s is caught by %s',
  { timeout: 60_000 },
  async ([what, clause, change]) => {
    const results = await runProviderClauses(() =>
      memoryWorld((memory, life) => broken(memory, change(memory, life))),
    );
    const failed = results.filter(({ outcome }) => outcome === 'failed').map(({ name }) => name);
    expect(failed).toContain(clause);
    expect(failed.filter((name) => name !== clause && !also[what]?.includes(name))).toEqual([]);
  },
);
