import { describe, expect, test } from 'vitest';
import type { ContainerStatus, Pod, PodCondition, PodStatus } from '../../src/kube/types.ts';
import type {
  RuntimeContainerState,
  RuntimeContainerStatus,
  RuntimePodStatus,
} from '../../src/provider/runtime-pod.ts';
import { type GenerateInput, generateApiPodStatus } from '../../src/status/generate.ts';
import { instanceOf, runtimeOf, statusOf } from './support/statuses.ts';

const pod: Pod = {
  metadata: { name: 'p', namespace: 'ns', uid: 'u', generation: 2 },
  spec: {
    restartPolicy: 'Always',
    initContainers: [{ name: 'setup', image: 'i' }],
    containers: [{ name: 'web', image: 'i', resources: { requests: { cpu: '100m' } } }],
  },
};

const addressed: RuntimePodStatus = {
  ...runtimeOf([instanceOf('setup', 'exited'), instanceOf('web', 'running')]),
  ips: ['fd00:0:0::9', '10.0.0.9'],
};

const generate = (runtime: RuntimePodStatus, extra: Partial<GenerateInput> = {}): PodStatus =>
  generateApiPodStatus({
    pod,
    runtime,
    podIsTerminal: false,
    resizeConditions: [],
    hostIps: ['192.168.0.1'],
    primaryFamily: 'IPv4',
    startFailureOf: () => undefined,
    withProbeResults: (_pod, status) => ({ status, probeNow: [] }),
    ...extra,
  }).status;

describe('generating a status', () => {
  test('a pod of which the runtime knows nothing is Pending, and its containers wait for the init ones', () => {
    const status = generate({ ...runtimeOf([]), sandboxStatuses: [] });
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
    const status = generate(addressed);
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
    const runtime = runtimeOf([instanceOf('setup', 'exited'), instanceOf('web', 'exited', { exitCode: 1 })]);
    const [web] = generate(runtime, { startFailureOf: () => failure }).containerStatuses ?? [];
    expect(web?.state).toEqual({ waiting: failure });
    expect(web?.lastState?.terminated?.exitCode).toBe(1);
  });

  test('a container that ran and is gone counts as failed, once more if its pod stays', () => {
    const before = generate(addressed);
    const [web] =
      generate(runtimeOf([instanceOf('setup', 'exited')]), { cached: before }).containerStatuses ?? [];
    expect(web).toMatchObject({ restartCount: 1, lastState: { terminated: { exitCode: 137 } } });
  });

  test('an eviction is told whatever the containers do, and a phase of the API is never left', () => {
    const evict = { reason: 'DeadlineExceeded', message: 'too long' };
    expect(generate(addressed, { evict })).toMatchObject({ phase: 'Failed', ...evict });
    const ended = { ...pod, status: { phase: 'Succeeded' } };
    expect(generate(addressed, { pod: ended }).phase).toBe('Succeeded');
  });

  const seen = (state: RuntimeContainerState, exitCode = 0): RuntimePodStatus =>
    runtimeOf([instanceOf('setup', 'exited'), instanceOf('web', state, { exitCode })]);
  const never = { ...pod, spec: { containers: [], ...pod.spec, restartPolicy: 'Never' } };
  type Known = Pick<PodStatus, 'phase' | 'reason' | 'message'>;
  const evict = { reason: 'DeadlineExceeded', message: 'too long' };
  const why = { reason: 'r', message: 'm' };

  test.for<
    [
      says: string,
      runtime: RuntimePodStatus,
      cached: Known | undefined,
      api: Known | undefined,
      extra: object,
      told: Known,
    ]
  >([
    [
      'what the containers say',
      seen('running'),
      { phase: 'Pending' },
      { phase: 'Pending' },
      {},
      { phase: 'Running' },
    ],
    ['their end', seen('exited'), { phase: 'Running' }, { phase: 'Running' }, {}, { phase: 'Succeeded' }],
    ['their end before a cached one', seen('exited', 1), { phase: 'Succeeded' }, {}, {}, { phase: 'Failed' }],
    [
      'a cached end',
      seen('running'),
      { phase: 'Succeeded' },
      { phase: 'Running' },
      {},
      { phase: 'Succeeded' },
    ],
    ['the API’s end', seen('running'), { phase: 'Running' }, { phase: 'Failed' }, {}, { phase: 'Failed' }],
    [
      'the API’s end before a cached one',
      seen('running'),
      { phase: 'Failed' },
      { phase: 'Succeeded' },
      {},
      { phase: 'Succeeded' },
    ],
    [
      'the API’s end, nothing being cached',
      seen('running'),
      undefined,
      { phase: 'Failed' },
      {},
      { phase: 'Failed' },
    ],
    [
      'an eviction',
      seen('running'),
      { phase: 'Running', ...why },
      undefined,
      { evict },
      { phase: 'Failed', ...evict },
    ],
    [
      'an eviction’s reason beside the API’s end',
      seen('exited'),
      {},
      { phase: 'Succeeded' },
      { evict },
      { phase: 'Succeeded', ...evict },
    ],
    [
      'the reason with its phase',
      seen('running'),
      { phase: 'Running', ...why },
      undefined,
      {},
      { phase: 'Running', ...why },
    ],
    [
      'no reason of another phase',
      seen('running'),
      { phase: 'Pending', ...why },
      why,
      {},
      { phase: 'Running' },
    ],
    [
      'the API’s reason, none being cached',
      seen('running'),
      { phase: 'Running', reason: '' },
      why,
      {},
      { phase: 'Running', ...why },
    ],
    [
      'the cached reason before the API’s',
      seen('running'),
      { phase: 'Running', ...why },
      evict,
      {},
      { phase: 'Running', ...why },
    ],
    [
      'a reason without a message',
      seen('running'),
      { phase: 'Running', reason: 'r' },
      {},
      {},
      { phase: 'Running', reason: 'r' },
    ],
    [
      'a message without a reason',
      seen('running'),
      { phase: 'Running', message: 'm' },
      {},
      {},
      { phase: 'Running', message: 'm' },
    ],
  ])(
    'the phase and its reason are told in the order of who may say so: %s (R205, R206, R207)',
    ([, runtime, cached, api, extra, told]) => {
      const given = { pod: { ...never, ...(api && { status: api }) }, ...(cached && { cached }), ...extra };
      const { phase, reason, message } = generate(runtime, given);
      expect({
        phase,
        ...(reason !== undefined && { reason }),
        ...(message !== undefined && { message }),
      }).toEqual(told);
    },
  );

  test('of a pod that has ended for good a container that could start again counts as ended', () => {
    const onFailure = { ...pod, spec: { containers: [], ...pod.spec, restartPolicy: 'OnFailure' } };
    expect(generate(seen('exited', 1), { pod: onFailure }).phase).toBe('Running');
    expect(generate(seen('exited', 1), { pod: onFailure, podIsTerminal: true }).phase).toBe('Failed');
  });

  test('a sidecar that has not started holds a pod in Pending only until a regular container has', () => {
    const sidecar = { name: 'setup', image: 'i', restartPolicy: 'Always' };
    const spec = { containers: [], ...pod.spec, initContainers: [sidecar] };
    const runtime = runtimeOf([instanceOf('setup', 'running'), instanceOf('web', 'running')]);
    expect(generate(runtime, { pod: { ...pod, spec } }).phase).toBe('Running');
    expect(generate({ ...runtime, activeContainerStatuses: [] }, { pod: { ...pod, spec } }).phase).toBe(
      'Pending',
    );
  });

  const condition = (type: string, extra: object = {}): PodCondition => ({ type, status: 'True', ...extra });
  const typesOf = (status: PodStatus): string[] | undefined => status.conditions?.map(({ type }) => type);
  const own = ['PodReadyToStartContainers', 'Initialized', 'Ready', 'ContainersReady', 'PodScheduled'];

  test('conditions of others come first, then of a resize, then ours; ours of before are made anew (R215)', () => {
    const status = { conditions: [condition('x'), condition('Ready', { status: 'False' }), condition('y')] };
    const resizeConditions = [condition('PodResizePending')];
    const told = generate(addressed, { pod: { ...pod, status }, resizeConditions });
    expect(typesOf(told)).toEqual(['x', 'y', 'PodResizePending', ...own]);
    expect(told.conditions?.[0]).toBe(status.conditions[0]);
    expect(told.conditions?.at(-1)).toEqual(condition('PodScheduled', { observedGeneration: 2 }));
    const seen = [condition('PodResizePending', { observedGeneration: 1 })];
    const of = (generation: number): PodStatus =>
      generate(addressed, {
        pod: { ...pod, metadata: { ...pod.metadata, generation } },
        resizeConditions: seen,
      });
    expect([of(2), of(0)].map(({ conditions }) => conditions?.[0])).toEqual([seen[0], resizeConditions[0]]);
    const over = generate(addressed, { pod: { ...pod, status }, resizeConditions, podIsTerminal: true });
    expect(typesOf(over)).toEqual(['x', 'y', ...own]);
  });

  test('why a pod is disrupted is kept until it is told, in the place of what the API has (R215)', () => {
    const [told, kept] = [
      condition('DisruptionTarget', { reason: 'a' }),
      condition('DisruptionTarget', { reason: 'b' }),
    ];
    const cached = { conditions: [kept] };
    const alone = generate(addressed, { cached });
    expect(typesOf(alone)).toEqual(['DisruptionTarget', ...own]);
    const both = generate(addressed, {
      cached,
      pod: { ...pod, status: { conditions: [told, condition('x')] } },
    });
    expect(typesOf(both)).toEqual(['DisruptionTarget', 'x', ...own]);
    expect(both.conditions?.[0]).toBe(kept);
  });

  test('a readiness gate is looked up among the conditions of others (R217)', () => {
    const spec = { containers: [], ...pod.spec, readinessGates: [{ conditionType: 'gate' }] };
    const readyOf = (status: string): string | undefined =>
      generate(addressed, {
        pod: { ...pod, spec, status: { conditions: [condition('gate', { status })] } },
        withProbeResults: (_pod, given) => ({
          status: {
            ...given,
            containerStatuses: (given.containerStatuses ?? []).map((one): ContainerStatus => ({
              ...one,
              ready: true,
            })),
          },
          probeNow: [],
        }),
      }).conditions?.find(({ type }) => type === 'Ready')?.status;
    expect([readyOf('True'), readyOf('False')]).toEqual(['True', 'False']);
  });

  test('a pod whose rules may restart all containers says whether they do (R215)', () => {
    const rule = { action: 'RestartAllContainers', exitCodes: { operator: 'In', values: [7] } };
    const web = { name: 'web', image: 'i', restartPolicy: 'Never', restartPolicyRules: [rule] };
    const ruled = { ...pod, spec: { ...pod.spec, containers: [web] } };
    expect(generate(seen('exited', 7), { pod: ruled }).conditions?.at(-1)).toMatchObject({
      type: 'AllContainersRestarting',
      status: 'True',
    });
    const before: RuntimeContainerStatus[] = [instanceOf('setup', 'exited')];
    const cached = { containerStatuses: [statusOf('web', { running: {} })] };
    const cachedAll = { ...cached, conditions: [condition('AllContainersRestarting')] };
    const stateOf = (known: PodStatus): string | undefined =>
      generate(runtimeOf(before), { pod: ruled, cached: known }).containerStatuses?.[0]?.state?.waiting
        ?.reason;
    expect(stateOf(cachedAll)).toBe('RestartingAllContainers');
    expect(stateOf(cached)).toBe('PodInitializing');
  });

  test('each list of containers is made with what was known of it, and an empty one is left out', () => {
    const end = { terminated: { exitCode: 3 } };
    const known = {
      containerStatuses: [statusOf('web', end)],
      initContainerStatuses: [statusOf('setup', end)],
      ephemeralContainerStatuses: [statusOf('debug', end)],
    };
    const spec = { containers: [], ...pod.spec, ephemeralContainers: [{ name: 'debug', image: 'i' }] };
    const { containerStatuses, initContainerStatuses, ephemeralContainerStatuses } = generate(runtimeOf([]), {
      pod: { ...pod, spec },
      cached: known,
    });
    expect({ containerStatuses, initContainerStatuses, ephemeralContainerStatuses }).toEqual(known);
    const api = generate(runtimeOf([]), { pod: { ...pod, spec, status: known } });
    expect(api.containerStatuses?.[0]?.state).toBe(end);
    const plain = generate(runtimeOf([]), { pod: { spec: { containers: [{ name: 'web', image: 'i' }] } } });
    expect('initContainerStatuses' in plain || 'ephemeralContainerStatuses' in plain).toBe(false);
    expect(plain.containerStatuses).toHaveLength(1);
  });

  test('ephemeral containers are sorted, init ones are not', () => {
    const named = (...names: string[]) => names.map((name) => ({ name, image: 'i' }));
    const spec = {
      containers: named('d', 'c'),
      initContainers: named('b', 'a'),
      ephemeralContainers: named('f', 'e'),
    };
    const status = generate(runtimeOf([]), { pod: { spec } });
    const names = (list: readonly ContainerStatus[] | undefined): string[] | undefined =>
      list?.map(({ name }) => name);
    expect(names(status.containerStatuses)).toEqual(['c', 'd']);
    expect(names(status.initContainerStatuses)).toEqual(['b', 'a']);
    expect(names(status.ephemeralContainerStatuses)).toEqual(['e', 'f']);
  });

  test('a pod of which nothing is said at all has a status', () => {
    expect(generate(runtimeOf([]), { pod: {}, hostIps: [] })).toMatchObject({
      phase: 'Pending',
      containerStatuses: [],
      qosClass: 'BestEffort',
      resources: {},
    });
  });

  test('a pod on the host’s network takes the host’s addresses, in the order of the node’s family (R227)', () => {
    const hosted = { ...pod, spec: { containers: [], ...pod.spec, hostNetwork: true } };
    expect(generate(runtimeOf([]), { pod: hosted })).toMatchObject({
      podIP: '192.168.0.1',
      hostIP: '192.168.0.1',
    });
    expect(generate(runtimeOf([]))).not.toHaveProperty('podIP');
    expect(generate(addressed, { primaryFamily: 'IPv6' }).podIP).toBe('fd00::9');
  });

  test('what the cgroup says is shown of a running pod', () => {
    const status = { phase: 'Running', resources: { limits: { memory: '1Gi' } } };
    const running = { ...pod, status };
    expect(generate(addressed, { pod: running, cgroup: { memory: 2 ** 31 } }).resources).toEqual({
      limits: { memory: '2Gi' },
    });
    expect(generate(addressed, { pod: running }).resources).toEqual(status.resources);
    expect(generate(addressed, { pod: running, cached: {} }).resources).toEqual({});
  });
});
