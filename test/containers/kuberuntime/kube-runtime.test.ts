import { expect, test } from 'vitest';
import { FakeClock } from '../../../src/base/fake-clock.ts';
import { ActuatedStore } from '../../../src/containers/kuberuntime/resize/actuated.ts';
import type { KubeRuntimeDeps } from '../../../src/containers/kuberuntime/kube-runtime.ts';
import type { PodCgroupAccess } from '../../../src/containers/kuberuntime/helper.ts';
import type { PodCgroupLimits } from '../../../src/containers/kuberuntime/resize/resize-plan.ts';
import type { PodResourceMap } from '../../../src/kube/resources/pod-resources.ts';
import type { Container, Pod } from '../../../src/kube/types.ts';
import { ContainerState, PodSandboxState } from '../../../src/provider/cri-messages.ts';
import type { PodSyncResult } from '../../../src/provider/provider.ts';
import { kubeRuntimeOver, plainHelper, type RuntimeUnderTest } from '../../support/kube-runtime.ts';
import { MemoryRuntime } from '../../support/memory-runtime.ts';
import { noFiles } from '../../support/no-files.ts';

const signal = new AbortController().signal;
const ref = { uid: 'u', name: 'web', namespace: 'ns' };
const start = Date.parse('2026-03-04T05:06:07Z');

const container = (name: string, more: Partial<Container> = {}): Container => ({
  name,
  image: 'busybox',
  imagePullPolicy: 'IfNotPresent',
  ...more,
});

const podOf = (spec: Partial<NonNullable<Pod['spec']>>): Pod => ({
  metadata: { name: 'web', namespace: 'ns', uid: 'u' },
  spec: { containers: [container('main')], ...spec },
});

interface Bed extends RuntimeUnderTest {
  readonly runtime: MemoryRuntime;
  readonly clock: FakeClock;
  sync(pod: Pod, restartAllContainers?: boolean): Promise<PodSyncResult>;
  /** Between making its containers and starting them the agent was killed, and another one began a second later. */
  killed(): void;
}

function bed(overrides: Parameters<typeof kubeRuntimeOver>[2] = {}): Bed {
  const clock = new FakeClock(start);
  let tick = 0;
  const runtime = new MemoryRuntime(() => clock.now() * 1e6 + ++tick * 1e4);
  const under = kubeRuntimeOver(runtime, clock, overrides);
  let { provider } = under;
  return {
    ...under,
    runtime,
    clock,
    killed: () => {
      for (const id of runtime.containers.keys())
        runtime.change(id, { state: ContainerState.CONTAINER_CREATED });
      clock.set(clock.now() + 1000);
      ({ provider } = kubeRuntimeOver(runtime, clock, overrides));
    },
    sync: async (pod, restartAllContainers = false) => {
      runtime.calls.length = under.events.length = under.fieldPaths.length = 0;
      const observed = await provider.getPodStatus(ref);
      return provider.syncPod({ pod, observed, pullSecrets: [], restartAllContainers }, signal);
    },
  };
}

const exit = ({ runtime, clock }: Bed, name: string, exitCode: number): void => {
  for (const [id, { config, status }] of runtime.containers)
    if (config.metadata?.name === name && status.state === ContainerState.CONTAINER_RUNNING)
      runtime.change(id, { state: ContainerState.CONTAINER_EXITED, exitCode, finishedAt: clock.now() * 1e6 });
};

test('events about a container say where in the spec it stands (R281)', async () => {
  const under = bed();
  await under.sync(podOf({ initContainers: [container('setup')] }));
  expect(new Set(under.fieldPaths)).toEqual(new Set(['spec.initContainers{setup}']));
});

test('a new sandbox is reported once, before anything is created in it (R154)', async () => {
  const { provider, runtime } = bed();
  const told: number[] = [];
  const sync = async (): Promise<void> => {
    const observed = await provider.getPodStatus(ref);
    const sandboxReady = (): unknown => told.push(runtime.containers.size);
    const request = { pod: podOf({}), observed, pullSecrets: [], restartAllContainers: false };
    await provider.syncPod({ ...request, sandboxReady }, signal);
  };
  await sync();
  await sync();
  expect(told).toEqual([0]);
  expect(runtime.containers.size).toBe(1);
});

test('a crash back-off tells when it ends (R117, R179)', async () => {
  const under = bed();
  await under.sync(podOf({}));
  exit(under, 'main', 1);
  await under.sync(podOf({}));
  under.clock.set(start + 1000);
  exit(under, 'main', 1);
  const { backOffUntil, error, changed } = await under.sync(podOf({}));
  expect(backOffUntil).toBe(start + 11_000);
  expect(changed).toBe(false);
  expect(error?.message).toBe(
    'failed to "StartContainer" for "main" with CrashLoopBackOff: "back-off 10s restarting failed container=main pod=web_ns(u)"',
  );
});

test('a container that an agent did not live to start makes room for the next one', async () => {
  const under = bed();
  await under.sync(podOf({}));
  under.killed();
  await under.sync(podOf({}));
  const calls = under.runtime.calls.filter((call) => call.includes('main#'));
  expect(calls).toEqual(['RemoveContainer main#0', 'CreateContainer main#1', 'StartContainer main#1']);
});

test('nothing is made beside a container that the runtime is starting after all', async () => {
  const under = bed();
  await under.sync(podOf({}));
  under.killed();
  under.runtime.failures.set('RemoveContainer', 'container is in starting state, can not be removed');
  const { error } = await under.sync(podOf({}));
  expect(error?.message).toContain('CreateContainerError');
  expect(under.runtime.containers.size).toBe(1);
});

test('another image begins the back-off anew (R179)', async () => {
  const under = bed();
  await under.sync(podOf({}));
  exit(under, 'main', 1);
  await under.sync(podOf({}));
  exit(under, 'main', 1);
  const pod = podOf({ containers: [container('main', { image: 'busybox:2' })] });
  expect((await under.sync(pod)).backOffUntil).toBeUndefined();
  expect(under.runtime.calls).toContain('StartContainer main#2');
});

test('one container that cannot start keeps no other from starting (R178)', async () => {
  const under = bed();
  const pod = podOf({ containers: [container('a', { imagePullPolicy: 'Never' }), container('b')] });
  const { results, error } = await under.sync(pod);
  expect(results.at(-1)).toEqual({ action: 'StartContainer', target: 'b' });
  expect(error?.message).toContain('ErrImageNeverPull');
});

test('what is started is counted, and what fails of it; a container in back-off is not', async () => {
  const counted: string[] = [];
  const counts: NonNullable<KubeRuntimeDeps['counts']> = {
    pod: () => void counted.push('pod'),
    podFailed: () => void counted.push('pod failed'),
    container: (type) => void counted.push(type),
    containerFailed: (type, reason) => void counted.push(`${type} ${reason}`),
    initStarted: () => void counted.push('init started'),
    initEnded: (_pod, endedAt) => void counted.push(`init ended ${new Date(endedAt).toISOString()}`),
    imageVolumes: () => undefined,
    resized: () => undefined,
    pulling: (uid) => void counted.push(`pulling for ${uid}`),
    pulled: (uid, ms, bytes) => void counted.push(`pulled for ${uid}, ${ms} ms, ${bytes} bytes`),
    httpFallback: () => undefined,
    sleepEnded: () => undefined,
  };
  const under = bed({ counts });
  under.runtime.failures.set('RunPodSandbox', 'no network');
  await under.sync(podOf({}));
  under.runtime.failures.clear();
  const ephemeralContainers = [container('debug', { image: 'absent', imagePullPolicy: 'Never' })];
  const pod = podOf({ initContainers: [container('setup')], ephemeralContainers });
  await under.sync(pod);
  exit(under, 'setup', 0);
  await under.sync(pod);
  expect(counted).toEqual([
    'pod',
    'pod failed',
    'pod',
    'init_container',
    'pulling for u',
    'pulled for u, 0 ms, 0 bytes',
    'init started',
    'ephemeral_container',
    'ephemeral_container ErrImageNeverPull',
    'init ended 2026-03-04T05:06:07.000Z',
    'container',
  ]);
  exit(under, 'main', 1);
  await under.sync(podOf({}));
  exit(under, 'main', 1);
  counted.length = 0;
  const { backOffUntil } = await under.sync(podOf({}));
  expect([typeof backOffUntil, counted]).toEqual(['number', []]);
});

test('a sandbox that cannot be made is no error once the pod is to end (R182)', async () => {
  const under = bed({ helper: { ...plainHelper, isPodTerminationRequested: () => true } });
  under.runtime.failures.set('RunPodSandbox', 'no network');
  const { error } = await under.sync(podOf({}));
  expect(error).toBeUndefined();
  expect(under.events).toEqual([]);
});

test('a reference that the node cannot resolve is CreateContainerConfigError', async () => {
  const generateRunContainerOptions = async (): Promise<never> => {
    throw new Error('configmap "settings" not found');
  };
  const under = bed({ helper: { ...plainHelper, generateRunContainerOptions } });
  const { results } = await under.sync(podOf({}));
  expect(results.at(-1)).toMatchObject({
    reason: 'CreateContainerConfigError',
    message: 'configmap "settings" not found',
  });
  expect(under.events.at(-1)).toBe('Warning Failed Error: configmap "settings" not found');
});

test('a restart of all containers removes every instance at once and starts with the init containers again', async () => {
  const under = bed();
  const rules = [{ action: 'RestartAllContainers', exitCodes: { operator: 'In', values: [7] } }];
  const main = container('main', { restartPolicy: 'Never', restartPolicyRules: rules });
  const preStop = { exec: { command: ['sleep', '5'] } };
  const other = container('other', { lifecycle: { preStop } });
  const pod = podOf({
    initContainers: [container('setup')],
    containers: [main, other],
    terminationGracePeriodSeconds: 30,
  });
  await under.sync(pod);
  exit(under, 'setup', 0);
  await under.sync(pod);
  exit(under, 'main', 7);
  const { results } = await under.sync(pod, true);
  expect(results.map(({ target }) => target)).toEqual(['other', 'setup', 'main']);
  expect(under.events).toEqual(['Normal Killing killing']);
  expect(under.runtime.calls).toEqual([
    'StopContainer other#0 timeout=2',
    'RemoveContainer other#0',
    'RemoveContainer setup#0',
    'RemoveContainer main#0',
  ]);
  await under.sync(pod);
  expect(under.runtime.calls).toEqual(['CreateContainer setup#0', 'StartContainer setup#0']);
});

test('a restart of all containers leaves their logs, and tells which part of it failed', async () => {
  const removed: string[] = [];
  const files = {
    ...noFiles,
    filesIn: async () => ['0.log'],
    remove: async (at: string) => void removed.push(at),
  };
  const under = bed({ files });
  const pod = podOf({});
  await under.sync(pod);
  for (const id of under.runtime.containers.keys()) under.runtime.change(id, { logPath: '/logs/main/0.log' });
  under.runtime.failures.set('StopContainer', 'busy');
  expect((await under.sync(pod, true)).results).toMatchObject([{ reason: 'KillContainerError' }]);
  under.runtime.failures.set('RemoveContainer', 'busy');
  expect((await under.sync(pod, true)).results).toMatchObject([{ reason: 'RemoveContainerError' }]);
  await under.sync(pod, true);
  expect(removed).toEqual([]);
  await under.sync(pod);
  expect(under.runtime.calls).toEqual(['CreateContainer main#1', 'StartContainer main#1']);
});

test('a pod that restarts all its containers after its sandbox was lost gets a new one first', async () => {
  const under = bed();
  await under.sync(podOf({}));
  under.runtime.setSandboxState('sandbox-1', PodSandboxState.SANDBOX_NOTREADY);
  const { results } = await under.sync(podOf({}), true);
  expect(results.map(({ action }) => action)).toEqual([
    'KillContainer',
    'KillPodSandbox',
    'CreatePodSandbox',
  ]);
});

test('what a started container cannot be configured with is the failure of the whole sync', async () => {
  let isBroken = false;
  const getPodDns: typeof plainHelper.getPodDns = () => {
    if (isBroken) throw new Error('no resolv.conf');
    return {};
  };
  const under = bed({ helper: { ...plainHelper, getPodDns } });
  await under.sync(podOf({}));
  exit(under, 'main', 1);
  isBroken = true;
  const { results, error } = await under.sync(podOf({}));
  expect(results).toEqual([]);
  expect(error?.message).toBe(
    'failed to SyncPod: GeneratePodSandboxConfig for pod "web_ns(u)" failed: no resolv.conf',
  );
});

test('images are pulled for the handler of the runtime class with the gate alone', async () => {
  const runtimeHandler = async (): Promise<string> => 'kata';
  const volumes = [{ name: 'data', image: { reference: 'data:1', pullPolicy: 'IfNotPresent' } }];
  const mounting = container('main', { volumeMounts: [{ name: 'data', mountPath: '/data' }] });
  const plain = podOf({ volumes, containers: [mounting] });
  const annotations = { a: 'b' };
  const pod = { ...plain, metadata: { ...plain.metadata, annotations } };
  const mounted: unknown[] = [];
  const generateRunContainerOptions: typeof plainHelper.generateRunContainerOptions = async (...given) => {
    mounted.push(given[3].get('data'));
    return {};
  };
  const helper = { ...plainHelper, runtimeHandler, generateRunContainerOptions };
  for (const features of [{}, { RuntimeClassInImageCriApi: true }]) await bed({ helper, features }).sync(pod);
  const image = { image: 'data:1', userSpecifiedImage: 'data:1', annotations };
  expect(mounted).toEqual([
    { ...image, runtimeHandler: '' },
    { ...image, runtimeHandler: 'kata' },
  ]);
});

test('images that containers mount are in use', async () => {
  const under = bed();
  await under.sync(podOf({}));
  for (const id of under.runtime.containers.keys())
    under.runtime.change(id, { mounts: [{ image: { image: 'data' } }, { hostPath: '/srv' }] });
  expect(await under.provider.imagesInUse()).toEqual(new Set(['busybox:latest', 'data']));
});

test('resources change in place where the resize policy allows it', async () => {
  const under = bed();
  const updates: unknown[] = [];
  Object.assign(under.runtime, {
    updateContainerResources: async ({ linux }: { linux: unknown }) => void updates.push(linux),
  });
  const sized = (cpu: string): Pod =>
    podOf({ containers: [container('main', { resources: { requests: { cpu }, limits: { cpu } } })] });
  await under.sync(sized('100m'));
  const { results } = await under.sync(sized('200m'));
  expect(results).toEqual([{ action: 'ResizePodInPlace', target: 'web_ns(u)' }]);
  expect(updates).toMatchObject([{ cpuShares: 204, cpuQuota: 20_000, cpuPeriod: 100_000 }]);
  expect((await under.sync(sized('200m'))).results).toEqual([]);
});

/** A pod cgroup that writes down what it is set to among the calls of the runtime. */
function cgroupOf(calls: () => string[]): PodCgroupAccess & { refuses: boolean } {
  let quota = 10_000;
  const cgroup = {
    refuses: false,
    limits: ({ spec }: Pod) => {
      const milli = Number.parseInt(
        spec?.resources?.limits?.['cpu'] ?? spec?.containers[0]?.resources?.limits?.['cpu'] ?? '',
      );
      return { current: { cpuQuota: quota }, desired: { cpuQuota: milli * 100 } };
    },
    set: (_pod: Pod, { cpuQuota = 0 }: PodCgroupLimits) => {
      if (cgroup.refuses) return Promise.reject(new Error('invalid argument'));
      quota = cpuQuota;
      calls().push(`pod quota=${cpuQuota}`);
      return Promise.resolve();
    },
    memoryUsage: () => undefined,
  };
  return cgroup;
}

test('a container that did not run when its pod was resized starts in a cgroup that has grown', async () => {
  const podCgroup = cgroupOf(() => runtime.calls);
  const under = bed({ helper: { ...plainHelper, podCgroup } });
  const { runtime } = under;
  const sized = (cpu: string): Pod =>
    podOf({ containers: [container('main', { resources: { limits: { cpu } } })] });
  await under.sync(sized('100m'));
  expect(runtime.calls).not.toContain('pod quota=10000');
  exit(under, 'main', 1);
  await under.sync(sized('200m'));
  expect(runtime.calls).toEqual(['pod quota=20000', 'CreateContainer main#1', 'StartContainer main#1']);
  exit(under, 'main', 1);
  podCgroup.refuses = true;
  await under.clock.advance(600_000);
  await under.sync(sized('300m'));
  expect(runtime.calls, 'the runtime is asked all the same').toEqual([
    'CreateContainer main#2',
    'StartContainer main#2',
  ]);
});

test('a sidecar that restarts for what its pod gets starts once, in a cgroup that has grown', async () => {
  const under = bed({ helper: { ...plainHelper, podCgroup: cgroupOf(() => runtime.calls) } });
  const { runtime } = under;
  Object.assign(runtime, {
    updateContainerResources: async () => void runtime.calls.push('UpdateContainerResources'),
  });
  const resizePolicy = [{ resourceName: 'cpu', restartPolicy: 'RestartContainer' }];
  const sized = (cpu: string): Pod =>
    podOf({
      resources: { limits: { cpu } },
      initContainers: [container('side', { restartPolicy: 'Always', resizePolicy })],
    });
  for (let sync = 0; sync < 2; sync++) await under.sync(sized('100m'));
  await under.sync(sized('200m'));
  expect(runtime.calls.filter((call) => !call.startsWith('Stop'))).toEqual([
    'pod quota=20000',
    'CreateContainer side#1',
    'StartContainer side#1',
    'UpdateContainerResources',
  ]);
  expect((await under.sync(sized('200m'))).results).toEqual([]);
});

test('a failed image volume is the failure of the container that mounts it', async () => {
  const under = bed();
  const volumes = [{ name: 'data', image: { reference: 'data:1', pullPolicy: 'Never' } }];
  const mounting = container('main', { volumeMounts: [{ name: 'data', mountPath: '/data' }] });
  const { results } = await under.sync(podOf({ volumes, containers: [mounting, container('other')] }));
  expect(results.slice(-2)).toMatchObject([
    { target: 'main', reason: 'ErrImageNeverPull' },
    { target: 'other' },
  ]);
  expect(results.at(-1)?.reason).toBeUndefined();
  const told = under.events.filter((_, at) => under.fieldPaths[at] === 'spec.containers{main}');
  expect(told).toEqual(['Warning Failed Error: ErrImageNeverPull']);
});

test('an ephemeral container sees the processes of the container that it names', async () => {
  const under = bed();
  await under.sync(podOf({}));
  const debug = { ...container('debug'), targetContainerName: 'main' };
  await under.sync(podOf({ ephemeralContainers: [debug] }));
  const created = [...under.runtime.containers.values()].find(
    ({ config }) => config.metadata?.name === 'debug',
  );
  const [main] = under.runtime.containers.keys();
  expect(created?.config.linux?.securityContext?.namespaceOptions).toMatchObject({ pid: 3, targetId: main });
});

test('a pod that only the runtime knows is stopped with what its containers say of it', async () => {
  const under = bed();
  const lifecycle = { preStop: { sleep: { seconds: 3 } } };
  await under.sync(
    podOf({ terminationGracePeriodSeconds: 9, containers: [container('main', { lifecycle })] }),
  );
  const [running] = await under.provider.listPods();
  if (!running) throw new Error('nothing runs');
  const killed = under.provider.killPod(undefined, running, undefined, signal);
  await under.clock.advance(3000);
  await killed;
  expect(under.runtime.calls.slice(-2)).toEqual([
    'StopContainer main#0 timeout=6',
    'StopPodSandbox attempt=0',
  ]);
});

test('killing a pod that is not there is done at once', async () => {
  const under = bed();
  const gone = { id: 'memory://none', name: 'main', state: 'running' as const };
  const running = { ...ref, containers: [gone], sandboxes: [{ ...gone, id: 'memory://nothing' }] };
  await under.provider.killPod(undefined, running, 1, signal);
  await under.provider.killPod(podOf({}), running, 1, signal);
  expect(under.runtime.calls).toEqual([]);
});

test('some pods are listed as all are, and the status of what was listed is the pod’s', async () => {
  const under = bed();
  const { provider, runtime } = under;
  await under.sync(podOf({ containers: [container('main'), container('side')] }));
  exit(under, 'side', 3);
  const filters: unknown[] = [];
  const list = runtime.listContainers.bind(runtime);
  Object.assign(runtime, {
    listContainers: (request: { filter?: object }) => {
      filters.push(request.filter);
      return list(request);
    },
  });
  const [listed, ...others] = await provider.listPods();
  expect(others).toEqual([]);
  expect(await provider.listSome(['u', 'none'])).toEqual([listed]);
  expect(await provider.listSome(['u', 'none', 'nor-this'])).toEqual([listed]);
  const one = (uid: string): object => ({ labelSelector: { 'io.kubernetes.pod.uid': uid } });
  expect(filters).toEqual([undefined, one('u'), one('none'), undefined]);
  const status = await provider.getPodStatus(ref);
  expect(status.containerStatuses).toHaveLength(2);
  filters.length = 0;
  expect(listed && (await provider.getListedPodStatus(listed))).toEqual(status);
  expect(filters).toEqual([]);
  const [gone = ''] = runtime.containers.keys();
  runtime.containers.delete(gone);
  const left = listed && (await provider.getListedPodStatus(listed));
  expect(left?.containerStatuses).toHaveLength(1);
});

test('a pod without instances has empty lists', async () => {
  const status = await bed().provider.getPodStatus(ref);
  expect(status).toMatchObject({ containerStatuses: [], sandboxStatuses: [], ips: [] });
});

test('the runtime’s own conditions decide whether it can run pods', async () => {
  const under = bed();
  await under.provider.ping(signal);
  const condition = {
    type: 'NetworkReady',
    status: false,
    reason: 'NoPlugin',
    message: 'cni not initialized',
  };
  Object.assign(under.runtime, { status: async () => ({ status: { conditions: [condition] } }) });
  await expect(under.provider.ping(signal)).rejects.toThrow(
    'container runtime condition NetworkReady is not met: reason:NoPlugin message:cni not initialized',
  );
});

test('what runs without a record is not resized, nor restarted for that', async () => {
  const clock = new FakeClock(start);
  const runtime = new MemoryRuntime(() => clock.now() * 1e6);
  const resizePolicy = [{ resourceName: 'cpu', restartPolicy: 'RestartContainer' }];
  const pod = podOf({
    containers: [container('main', { resizePolicy, resources: { requests: { cpu: '1' } } })],
  });
  for (const expected of [3, 0]) {
    const { provider } = kubeRuntimeOver(runtime, clock); // an agent that knows nothing of the one before
    const observed = await provider.getPodStatus(ref);
    const request = { pod, observed, pullSecrets: [], restartAllContainers: false };
    expect((await provider.syncPod(request, signal)).results).toHaveLength(expected);
  }
});

test('the record of resources is kept as plain JSON', async () => {
  const under = bed();
  const resources = { requests: { cpu: '1' } };
  await under.sync(podOf({ containers: [container('main', { resources })] }));
  const kept = JSON.stringify(under.provider.actuated.snapshot());
  const again = new ActuatedStore({
    before: JSON.parse(kept) as PodResourceMap,
    save: () => Promise.resolve(),
  });
  expect(again.container('u', 'main')).toEqual(resources);
});

test('a container whose resources cannot be recorded is not started, and does not stay', async () => {
  let isFull = true;
  const save = (): Promise<void> => (isFull ? Promise.reject(new Error('disk full')) : Promise.resolve());
  const under = bed({ actuated: new ActuatedStore({ before: {}, save }) });
  const pod = podOf({ containers: [container('main')] });
  const { results } = await under.sync(pod);
  expect(results.at(-1)).toMatchObject({ reason: 'CreateContainerError', message: 'disk full' });
  expect(under.events).toContain('Warning Failed Error: disk full');
  expect([...under.runtime.containers.keys()]).toEqual([]);
  isFull = false;
  await under.sync(pod);
  expect(under.runtime.calls.slice(-2)).toEqual(['CreateContainer main#0', 'StartContainer main#0']);
});
