import { describe, expect, test } from 'vitest';
import type { ContainerStatus, Pod, PodStatus } from '../../src/kube/types.ts';
import type { RuntimeContainerStatus, RuntimePodStatus } from '../../src/provider/runtime-pod.ts';
import { podAddresses } from '../../src/status/addresses.ts';
import { needsReadinessReconcile } from '../../src/status/conditions.ts';
import { isPodStatusByKubeletEqual } from '../../src/status/equal.ts';
import { type GenerateInput, generateApiPodStatus } from '../../src/status/generate.ts';
import { normalizeStatus } from '../../src/status/normalize.ts';
import { podPhase } from '../../src/status/phase.ts';
import { illegalTransition, terminatedStatus } from '../../src/status/transitions.ts';

const pod: Pod = {
  metadata: { name: 'p', namespace: 'ns', uid: 'u', generation: 2 },
  spec: {
    restartPolicy: 'Always',
    initContainers: [{ name: 'setup', image: 'i' }],
    containers: [{ name: 'web', image: 'i', resources: { requests: { cpu: '100m' } } }],
  },
};

const instance = (
  name: string,
  state: RuntimeContainerStatus['state'],
  exitCode = 0,
): RuntimeContainerStatus => ({
  id: `fake://${name}`,
  name,
  state,
  createdAt: 0,
  startedAt: 0,
  finishedAt: 1000,
  exitCode,
  image: 'i',
  imageId: 'i',
  imageRef: 'i@x',
  hash: 1,
  restartCount: 0,
  reason: '',
  message: '',
});

const runtimeOf = (...containerStatuses: RuntimeContainerStatus[]): RuntimePodStatus => ({
  uid: 'u',
  name: 'p',
  namespace: 'ns',
  ips: ['fd00:0:0::9', '10.0.0.9'],
  containerStatuses,
  activeContainerStatuses: containerStatuses,
  sandboxStatuses: [{ id: 's', state: 'SANDBOX_READY', attempt: 0, createdAt: 0, networkMode: 'POD' }],
});

const generate = (runtime: RuntimePodStatus, extra: Partial<GenerateInput> = {}): PodStatus =>
  generateApiPodStatus({
    pod,
    runtime,
    podIsTerminal: false,
    resizeConditions: [],
    hostIps: ['192.168.0.1'],
    primaryFamily: 'IPv4',
    startFailureOf: () => undefined,
    withProbeResults: (_pod, status) => status,
    ...extra,
  });

describe('generating a status', () => {
  test('a pod of which the runtime knows nothing is Pending, and its containers wait for the init ones', () => {
    const status = generate({ ...runtimeOf(), sandboxStatuses: [], ips: [] });
    expect(status.phase).toBe('Pending');
    expect(status.containerStatuses?.[0]?.state).toEqual({ waiting: { reason: 'PodInitializing' } });
    expect(status.conditions?.map(({ type, status: is }) => `${type}=${is}`)).toEqual([
      'PodReadyToStartContainers=False',
      'Initialized=False',
      'Ready=False',
      'ContainersReady=False',
      'PodScheduled=True',
    ]);
  });

  test('a running pod shows its addresses in order, its class and what it was promised', () => {
    const status = generate(runtimeOf(instance('setup', 'exited'), instance('web', 'running')));
    expect(status).toMatchObject({
      phase: 'Running',
      qosClass: 'Burstable',
      hostIP: '192.168.0.1',
      podIP: '10.0.0.9',
      podIPs: [{ ip: '10.0.0.9' }, { ip: 'fd00::9' }],
      allocatedResources: { cpu: '100m' },
    });
  });

  test('why a container could not start is told, and its end moves to the last state', () => {
    const failure = { reason: 'CrashLoopBackOff', message: 'back-off' };
    const runtime = runtimeOf(instance('setup', 'exited'), instance('web', 'exited', 1));
    const [web] = generate(runtime, { startFailureOf: () => failure }).containerStatuses ?? [];
    expect(web?.state).toEqual({ waiting: failure });
    expect(web?.lastState?.terminated?.exitCode).toBe(1);
  });

  test('a container that ran and is gone counts as failed, once more if its pod stays', () => {
    const before = generate(runtimeOf(instance('setup', 'exited'), instance('web', 'running')));
    const [web] =
      generate(runtimeOf(instance('setup', 'exited')), { cached: before }).containerStatuses ?? [];
    expect(web).toMatchObject({ restartCount: 1, lastState: { terminated: { exitCode: 137 } } });
  });

  test('an eviction is told whatever the containers do, and a phase of the API is never left', () => {
    const runtime = runtimeOf(instance('setup', 'exited'), instance('web', 'running'));
    const evict = { reason: 'DeadlineExceeded', message: 'too long' };
    expect(generate(runtime, { evict })).toMatchObject({ phase: 'Failed', ...evict });
    const ended = { ...pod, status: { phase: 'Succeeded' } };
    expect(generate(runtime, { pod: ended }).phase).toBe('Succeeded');
  });

  test('a pod on the host network takes the addresses of the host, the second one too', () => {
    const addresses = podAddresses({
      podIps: [],
      hostIps: ['10.0.0.1', 'fd00::1'],
      primaryFamily: 'IPv4',
      hostNetwork: true,
    });
    expect(addresses.podIPs).toEqual([{ ip: '10.0.0.1' }, { ip: 'fd00::1' }]);
    expect(podAddresses({ podIps: [], hostIps: [], primaryFamily: 'IPv4', hostNetwork: true })).toEqual({});
  });
});

const ended = (exitCode: number): ContainerStatus => ({
  name: 'web',
  image: 'i',
  imageID: '',
  ready: false,
  restartCount: 0,
  state: { terminated: { exitCode } },
  lastState: {},
});

test.for([
  ['Never', 0, 'Succeeded'],
  ['Never', 1, 'Failed'],
  ['OnFailure', 1, 'Running'],
  ['Always', 0, 'Running'],
] as const)(
  'with policy %s a pod whose container ended with %i is %s',
  ([restartPolicy, exitCode, phase]) => {
    const single: Pod = { spec: { restartPolicy, containers: [{ name: 'web' }] } };
    expect(podPhase(single, [ended(exitCode)], { podIsTerminal: false, podHasInitialized: true })).toBe(
      phase,
    );
  },
);

test('a container that ended for good does not come back, and init statuses must match the spec', () => {
  const spec = { restartPolicy: 'Never', containers: [{ name: 'web' }], initContainers: [{ name: 'a' }] };
  const back = { ...ended(0), state: { running: {} } };
  const old = { containerStatuses: [ended(0)] };
  expect(illegalTransition(old, { containerStatuses: [back] }, spec)).toContain('terminated container web');
  const stranger = { initContainerStatuses: [{ ...ended(0), name: 'b' }] };
  expect(illegalTransition(stranger, {}, spec)).toContain('mismatch');
  expect(
    illegalTransition(old, { containerStatuses: [back] }, { ...spec, restartPolicy: 'Always' }),
  ).toBeUndefined();
});

test('a terminated pod has no container without an end and a terminal phase', () => {
  const running = { ...ended(0), state: { running: {} } };
  const status = terminatedStatus(
    { spec: { containers: [{ name: 'web' }] } },
    { phase: 'Running', containerStatuses: [running] },
  );
  expect(status.phase).toBe('Failed');
  expect(status.containerStatuses?.[0]?.state?.terminated?.reason).toBe('ContainerStatusUnknown');
});

test('termination messages share 12 KiB, cut by bytes', () => {
  const message = 'ü'.repeat(10_000);
  const long = { ...ended(1), state: { terminated: { exitCode: 1, message } } };
  const given = { containerStatuses: [long], startTime: '2000-01-01T00:00:00.9+01:00' };
  const status = normalizeStatus(
    { spec: { containers: [{ name: 'a' }, { name: 'b' }, { name: 'c' }, { name: 'd' }, { name: 'e' }] } },
    given,
  );
  expect(status.containerStatuses?.[0]?.state?.terminated?.message).toBe(`${'ü'.repeat(1228)}\ufffd`);
  expect(status.startTime).toBe('1999-12-31T23:00:00Z');
});

test.for([
  [{ resources: { requests: { cpu: '1' } } }, { resources: { requests: { cpu: '1000m' } } }, true],
  [{ resources: { requests: { cpu: '1' } } }, { resources: { requests: { cpu: '2' } } }, false],
  [{ resources: { requests: { cpu: '1' } } }, { resources: { requests: {} } }, false],
  [{ podIPs: [] }, {}, true],
  [{ message: '' }, {}, true],
  [{ containerStatuses: [{ ...ended(0), started: false }] }, { containerStatuses: [ended(0)] }, false],
  [{ phase: 'Running' }, { phase: 'Pending' }, false],
] as const)('statuses are compared as Go compares them %#', ([a, b, equal]) => {
  expect(isPodStatusByKubeletEqual(a as PodStatus, b as PodStatus)).toBe(equal);
});

test('a readiness gate that turned is a reason to sync', () => {
  const gated: Pod = {
    spec: { containers: [], readinessGates: [{ conditionType: 'g' }] },
    status: {
      containerStatuses: [],
      conditions: [
        { type: 'Ready', status: 'False' },
        { type: 'g', status: 'True' },
      ],
    },
  };
  expect(needsReadinessReconcile(gated)).toBe(true);
  expect(needsReadinessReconcile(pod)).toBe(false);
});
