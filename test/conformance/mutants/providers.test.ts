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
    'syncs one pod after another',
    'hanging-call-holds-no-other',
    (m) => {
      let last: Promise<unknown> = Promise.resolve();
      return {
        syncPod: (request, signal) => {
          const next = last.then(() => m.syncPod(request, signal));
          last = next.catch(() => undefined);
          return next;
        },
      };
    },
  ],
  [
    'cannot be cancelled',
    'hanging-call-ends-when-cancelled',
    (m) => ({ syncPod: (request) => m.syncPod(request, new AbortController().signal) }),
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
  [
    'answers every command with 1',
    'ready-after-the-probe',
    (m) => ({ execSync: async (container) => ({ ...(await m.execSync(container)), exitCode: 1 }) }),
  ],
  [
    'has other container IDs at a restart',
    'statuses-survive-a-restart',
    (m, life) => (life === 0 ? {} : ofIds((id) => `${id}-${life}`)(m, life)),
  ],
  [
    'keeps the usage of what has stopped',
    'no-usage-after-the-end',
    (m) => {
      let last: Awaited<ReturnType<MemoryProvider['listUsage']>> = [];
      return {
        killPod: async (...call) => {
          last = await m.listUsage();
          return m.killPod(...call);
        },
        listUsage: async () => [...last, ...(await m.listUsage())],
      };
    },
  ],
  [
    'is never well',
    'pings-while-pods-run',
    () => ({ ping: async () => Promise.reject(new Error('not well')) }) as Partial<PodProvider>,
  ],
  [
    'stops sidecars first',
    'sidecars-stop-last',
    (m) => ({
      killPod: async (pod, running, grace, signal) => {
        m.endContainer(running.uid, 'proxy', 0);
        await m.killPod(pod, running, grace, signal);
      },
    }),
  ],
  [
    'leaves sidecars ended',
    'sidecars-start-again',
    (m) => ({
      syncPod: (r, s) =>
        m.syncPod(
          r.observed.containerStatuses.some(({ name, state }) => name === 'proxy' && state === 'exited')
            ? withSpec(r, { initContainers: [] })
            : r,
          s,
        ),
    }),
  ],
  [
    'runs init containers again and again',
    'init-runs-once',
    (m) => ({
      syncPod: (r, s) =>
        m.syncPod(
          withSpec(r, {
            initContainers: r.pod.spec?.initContainers?.map((one) =>
              one.name === 'setup' && r.observed.containerStatuses.some(({ name }) => name === 'main')
                ? { ...one, restartPolicy: 'Always' }
                : one,
            ),
          }),
          s,
        ),
    }),
  ],
  [
    'gives up on a failed init container',
    'failed-init-is-tried-again',
    (m) => ({
      syncPod: (r, s) =>
        m.syncPod(
          r.pod.spec?.initContainers?.some(({ restartPolicy }) => !restartPolicy) === true &&
            r.pod.spec.restartPolicy === 'OnFailure'
            ? withSpec(r, { restartPolicy: 'Never' })
            : r,
          s,
        ),
    }),
  ],
  [
    'loses a sync that fails',
    'failed-sync-is-an-error',
    (m) => ({ syncPod: (r, s) => m.syncPod(r, s).catch(() => ({ results: [], changed: false })) }),
  ],
  [
    'invents ends at a restart',
    'ends-survive-a-restart',
    (m, life) =>
      life === 0
        ? {}
        : ofContainers((one) => (one.exitCode === 6 ? { ...one, exitCode: 137 } : one))(m, life),
  ],
  [
    'takes what runs for ended at a restart',
    'ends-during-a-restart',
    (m, life) =>
      life === 0
        ? {}
        : ofContainers((one) =>
            one.state === 'running' ? { ...one, state: 'exited' as const, exitCode: 137 } : one,
          )(m, life),
  ],
  [
    'counts from 0 at a restart',
    'counts-survive-a-restart',
    (m, life) => (life === 0 ? {} : ofContainers((one) => ({ ...one, restartCount: 0 }))(m, life)),
  ],
  [
    'cannot kill what it has not started',
    'kills-after-a-restart',
    (_m, life) => (life === 0 ? {} : { killPod: async () => undefined }),
  ],
];

/** Clauses that a mutant breaks as well, since its fault is theirs too. */
const also: Readonly<Record<string, readonly string[]>> = {
  'runs a pod twice': [
    'readiness-decides',
    'ready-after-the-probe',
    'startup-holds-the-others',
    'started-after-the-probe',
    'running-pods-are-ready',
    'ends-are-phases',
    'crash-loops-show',
    'statuses-survive-a-restart',
    'failed-syncs-are-tried-again',
  ],
  'forgets pods in its listing': ['ends-are-phases'],
  'has bare container IDs': ['ready-after-the-probe'],
  'has one ID for all': ['ready-after-the-probe'],
  'has no addresses': ['running-pods-are-ready'],
  'forgets a kill': [
    'kill-stops-the-sandbox',
    'kill-waits',
    'grace-period-is-granted',
    'grace-period-ends',
    'kill-without-the-pod',
    'sidecars-stop-last',
    'exec-runs-where-it-says',
    'no-usage-after-the-end',
    'kills-after-a-restart',
    'failed-kill-is-an-error',
    'deleted-pods-end-first',
    'orphans-are-killed',
  ],
  'resolves a kill early': ['sidecars-stop-last'],
  'refuses to kill what has stopped': ['ends-are-phases'],
  'needs the pod to kill it': ['kills-after-a-restart'],
  'forgets what it has stopped': [
    'grace-period-is-granted',
    'grace-period-ends',
    'sidecars-stop-last',
    'kills-after-a-restart',
  ],
  'invents exit code 0': [
    'grace-period-is-granted',
    'ends-survive-a-restart',
    'ends-during-a-restart',
    'ends-are-phases',
    'crash-loops-show',
  ],
  'restarts whatever has ended': ['ends-survive-a-restart'],
  'never restarts': [
    'crashes-back-off',
    'failed-init-is-tried-again',
    'counts-survive-a-restart',
    'crash-loops-show',
  ],
  'counts restarts twice': ['counts-survive-a-restart', 'crash-loops-show'],
  'does not wait for init containers': [
    'failed-init-holds-the-pod',
    'init-runs-once',
    'failed-init-is-tried-again',
    'sidecars-start-again',
    'sidecars-stop-last',
  ],
  'goes on after a failed init container': ['failed-init-is-tried-again'],
  'has no sidecars': ['sidecars-start-again', 'sidecars-stop-last'],
  'leaks at a restart': ['kills-after-a-restart', 'statuses-survive-a-restart'],
  'answers exec without running it': ['readiness-decides', 'startup-holds-the-others'],
  'loses a sync that fails': ['failed-syncs-are-tried-again', 'hanging-call-ends-when-cancelled'],
  'invents ends at a restart': ['ends-during-a-restart'],
  'takes what runs for ended at a restart': ['statuses-survive-a-restart'],
  'cannot kill what it has not started': ['orphans-are-killed'],
  'has other container IDs at a restart': ['pods-survive-a-restart'],
  'answers every command with 1': ['exec-runs-where-it-says', 'started-after-the-probe'],
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
