import { expect, test } from 'vitest';
import type { Container, Pod } from '../../../../src/kube/types.ts';
import { generateContainerConfig } from '../../../../src/containers/kuberuntime/config/container-config.ts';
import { hugePageUnit } from '../../../../src/kube/resources/huge-page-unit.ts';
import { memoryQosOf, swapOf } from '../../../../src/containers/kuberuntime/config/memory-limits.ts';
import {
  linuxResources,
  overheadResources,
  sandboxResources,
} from '../../../../src/containers/kuberuntime/config/resources.ts';
import { verifyRunAsNonRoot } from '../../../../src/containers/kuberuntime/config/run-as-non-root.ts';
import {
  containerSecurityContext,
  sandboxSecurityContext,
} from '../../../../src/containers/kuberuntime/config/security-context.ts';
import { appArmorOf, seccompOf } from '../../../../src/containers/kuberuntime/config/security-profiles.ts';
import { podUsersOf, userNamespaceOf } from '../../../../src/containers/kuberuntime/config/user-namespace.ts';
import { NamespaceMode, Signal } from '../../../../src/provider/cri-messages.ts';
import { imageUserOf } from '../../../../src/containers/images/image-user.ts';

type Spec = Partial<NonNullable<Pod['spec']>>;

const container = (fields: Partial<Container> = {}): Container => ({ name: 'c', image: 'i', ...fields });
const podOf = (own: Container, spec: Spec = {}): Pod => ({
  metadata: { name: 'p', namespace: 'n', uid: 'u' },
  spec: { containers: [own], ...spec },
});
const inputs = { extraSupplementalGroups: [], users: { runtimeHandler: '' }, security: {} };
const gib = 2 ** 30;

test('a node that says nothing of cgroup v2, swap and huge pages gets what every node knows', () => {
  const own = container({ resources: { requests: { cpu: '500m' }, limits: { cpu: '1', memory: '1Gi' } } });
  expect(linuxResources(podOf(own), own, { memoryCapacityBytes: 4 * gib })).toEqual({
    cpuShares: 512,
    cpuPeriod: 100_000,
    cpuQuota: 100_000,
    memoryLimitInBytes: gib,
    oomScoreAdj: 999,
    hugepageLimits: [],
  });
});

test('a container without limits has those of its pod', () => {
  const own = container();
  const pod = podOf(own, { resources: { limits: { cpu: '2', memory: '1Gi', 'hugepages-2Mi': '4Mi' } } });
  expect(
    linuxResources(pod, own, { memoryCapacityBytes: 4 * gib, hugePageSizes: ['2MB', '1GB'] }),
  ).toMatchObject({
    cpuShares: 2048,
    cpuQuota: 200_000,
    memoryLimitInBytes: gib,
    hugepageLimits: [
      { pageSize: '2MB', limit: 4 * 2 ** 20 },
      { pageSize: '1GB', limit: 0 },
    ],
  });
});

test('a sandbox gets the pod’s resources, and separately its overhead', () => {
  const own = container({ resources: { limits: { cpu: '1', memory: '1Gi' } } });
  const pod = podOf(own, { overhead: { cpu: '250m', memory: '64Mi' } });
  const settings = { memoryCapacityBytes: 4 * gib, cpuCfsQuota: false };
  expect(sandboxResources(pod, settings)).toEqual({ cpuShares: 1024, memoryLimitInBytes: gib });
  expect(overheadResources(pod, settings)).toEqual({ cpuShares: 256, memoryLimitInBytes: 64 * 2 ** 20 });
  expect(overheadResources(podOf(own), settings)).toEqual({});
});

test.for([
  [2 * 2 ** 20, '2MB'],
  [gib, '1GB'],
  [64 * 1024, '64KB'],
  [1536 * 1024, '1536KB'],
  [512, '512'],
] as const)('a page of %i bytes is one of %s', ([bytes, unit]) => {
  expect(hugePageUnit(bytes)).toBe(unit);
});

const limited = { requests: { cpu: '1', memory: '1Gi' }, limits: { cpu: '1', memory: '1Gi' } };
const qos = { reservationPolicy: 'TieredReservation', throttlingFactor: 0.9, allocatableBytes: 8 * gib };
test.for([
  ['a guaranteed pod for good', limited, { 'memory.min': String(gib) }],
  [
    'a burstable pod softly, and slows it down later',
    { requests: { memory: '1Gi' }, limits: { memory: '2Gi' } },
    { 'memory.low': String(gib), 'memory.high': '2040107008' },
  ],
  ['a best-effort pod not at all', {}, { 'memory.min': '0', 'memory.low': '0' }],
] as const)('memory is kept for %s', ([, resources, expected]) => {
  const own = container({ resources });
  expect(memoryQosOf(podOf(own), own, qos)).toEqual(expected);
});

const swap = { behavior: 'LimitedSwap', capacityBytes: 2 * gib };
const requesting = { requests: { memory: '1Gi' } };
test.for([
  ['a share of the swap as large as its share of the memory', requesting, { swap }, String(gib / 2)],
  [
    'none when it is limited to what it requests',
    { requests: { memory: '1Gi' }, limits: { memory: '1Gi' } },
    { swap },
    '0',
  ],
  [
    'its share when request and limit differ by less than a byte',
    { requests: { memory: '500m' }, limits: { memory: '1' } },
    { swap: { ...swap, capacityBytes: 8 * gib } },
    '2',
  ],
  ['none when it requests more than there is', { requests: { memory: '9Gi' } }, { swap }, '0'],
  ['none with another behaviour', requesting, { swap: { ...swap, behavior: 'NoSwap' } }, '0'],
  ['no setting where swap cannot be limited', requesting, {}, undefined],
] as const)('a container may swap %s', ([, resources, node, expected]) => {
  const own = container({ resources });
  const { unified } = swapOf(podOf(own), own, undefined, {
    memoryCapacityBytes: 4 * gib,
    cgroupV2: true,
    ...node,
  });
  expect(unified?.['memory.swap.max']).toBe(expected);
});

test('with cgroup v1 memory and swap share one limit', () => {
  const own = container({ resources: requesting });
  expect(swapOf(podOf(own), own, gib, { memoryCapacityBytes: 4 * gib, swap })).toEqual({
    memorySwapLimitInBytes: gib,
  });
});

const where = '(pod: "p_n(u)", container: c)';
test.for([
  ["container's runAsUser breaks non-root policy", { runAsNonRoot: true, runAsUser: 0 }, { uid: 5 }],
  ['container has runAsNonRoot and image will run as root', { runAsNonRoot: true }, { uid: 0 }],
  [
    'container has runAsNonRoot and image has non-numeric user (web), cannot verify user is non-root',
    { runAsNonRoot: true },
    { username: 'web' },
  ],
  [
    'container has runAsNonRoot and image has an invalid user id (2147483648). (Must be 1-(2147483647)): must be between 0 and 2147483647, inclusive',
    { runAsNonRoot: true },
    { uid: 2 ** 31 },
  ],
  [undefined, { runAsNonRoot: true, runAsUser: 7 }, { uid: 0 }],
  [undefined, { runAsNonRoot: true }, { uid: 7 }],
  [undefined, { runAsNonRoot: false }, { uid: 0 }],
] as const)('who must not be root: %s', ([fault, securityContext, user]) => {
  const own = container({ securityContext });
  const verify = (): void => {
    verifyRunAsNonRoot(podOf(own), own, user);
  };
  if (fault === undefined) expect(verify).not.toThrow();
  else expect(verify).toThrow(`${fault} ${where}`);
});

test.for([
  [undefined, { uid: 0 }],
  [{ uid: { value: 7 } }, { uid: 7 }],
  [{ uid: {} }, { uid: 0 }],
  [{ username: 'web' }, { username: 'web' }],
  [{ username: '' }, { uid: 0 }],
] as const)('the image %j runs as %j', ([image, user]) => {
  expect(imageUserOf(image)).toEqual(user);
});

test('the user of the image counts only where the spec names none', () => {
  const [own, other] = [container({ securityContext: { runAsUser: 7 } }), container()];
  const withImage = { ...inputs, imageUser: { uid: 9 } };
  expect(containerSecurityContext(own, podOf(own), withImage).runAsUser).toEqual({ value: 7 });
  expect(containerSecurityContext(other, podOf(other), withImage).runAsUser).toEqual({ value: 9 });
});

test.for([
  [
    { seccompProfile: { type: 'Localhost', localhostProfile: 'a/b.json' } },
    {},
    { profileType: 2, localhostRef: '/seccomp/a/b.json' },
  ],
  [undefined, { seccompProfile: { type: 'RuntimeDefault' } }, { profileType: 0 }],
  [undefined, undefined, { profileType: 1 }],
] as const)('seccomp of container %j in pod %j', ([own, whole, expected]) => {
  expect(seccompOf(own, whole, { seccompProfileRoot: '/seccomp' })).toEqual(expected);
});

test('the node may give all containers the seccomp profile of the runtime', () => {
  expect(seccompOf(undefined, undefined, { seccompDefault: true })).toEqual({ profileType: 0 });
});

test('an AppArmor profile comes from the container, then from the old annotation, then from the pod', () => {
  const whole = { securityContext: { appArmorProfile: { type: 'RuntimeDefault' } } };
  const own = container({ securityContext: { appArmorProfile: { type: 'Unconfined' } } });
  const annotations = { 'container.apparmor.security.beta.kubernetes.io/c': 'localhost/x' };
  const annotated = (of: Container): Pod => ({ ...podOf(of, whole), metadata: { name: 'p', annotations } });
  expect(appArmorOf(annotated(own), own).apparmorProfile).toBe('unconfined');
  expect(appArmorOf(annotated(container()), container()).apparmorProfile).toBe('localhost/x');
  expect(appArmorOf(podOf(container(), whole), container()).apparmorProfile).toBe('runtime/default');
});

test('an AppArmor profile that cannot be named is refused', () => {
  const of = (appArmorProfile: { type: string }) => (): unknown => {
    const own = container({ securityContext: { appArmorProfile } });
    return appArmorOf(podOf(own), own);
  };
  expect(of({ type: 'Localhost' })).toThrow('missing localhost apparmor profile name');
  expect(of({ type: 'Other' })).toThrow('unknown apparmor profile type: "Other"');
  expect(appArmorOf(podOf(container()), container())).toEqual({});
});

test('groups come in the order that runtimes have always got them in', () => {
  const context = { fsGroup: 1, supplementalGroups: [3], supplementalGroupsPolicy: 'Strict' };
  const pod = podOf(container(), { securityContext: context });
  const own = containerSecurityContext(container(), pod, { ...inputs, extraSupplementalGroups: [2] });
  expect(own.supplementalGroups).toEqual([1, 3, 2]);
  expect(own.supplementalGroupsPolicy).toBe(1);
  expect(sandboxSecurityContext(pod, [2], inputs.users).supplementalGroups).toEqual([1, 2, 3]);
});

test('a debug container sees its target only where it does not see more already', () => {
  const target = { ...inputs, targetId: 't' };
  const [own, alone] = [container(), podOf(container())];
  expect(containerSecurityContext(own, alone, target).namespaceOptions?.pid).toBe(NamespaceMode.TARGET);
  const shared = podOf(own, { shareProcessNamespace: true });
  expect(containerSecurityContext(own, shared, target).namespaceOptions).toMatchObject({
    pid: NamespaceMode.POD,
  });
});

test('a pod with a user namespace gets one, or an error', async () => {
  const pod = podOf(container(), { hostUsers: false });
  const mapping = { uids: [{ hostId: 65_536, length: 65_536 }], gids: [] };
  const able = await podUsersOf(pod, { userNamespace: () => mapping });
  expect(userNamespaceOf(pod, able)).toBe(mapping);
  const unable = await podUsersOf(pod, { runtimeHandler: async () => 'kata' });
  expect(() => userNamespaceOf(pod, unable)).toThrow(
    'RuntimeClass handler "kata" does not support user namespaces',
  );
});

test.for([
  ['SIGRTMIN+3', Signal.SIGRTMINPLUS3],
  ['SIGRTMAX-1', Signal.SIGRTMAXMINUS1],
  ['SIGUSR1', Signal.SIGUSR1],
] as const)('the stop signal %s reaches the runtime when its feature is on', ([stopSignal, signal]) => {
  const own = container({ lifecycle: { stopSignal } });
  const base = {
    ...inputs,
    options: {},
    restartCount: 0,
    imageRef: 'i',
    resources: { memoryCapacityBytes: gib },
  };
  expect(generateContainerConfig(own, podOf(own), base).stopSignal).toBeUndefined();
  const features = { ContainerStopSignals: true };
  expect(generateContainerConfig(own, podOf(own), { ...base, features }).stopSignal).toBe(signal);
});
