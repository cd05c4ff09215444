import { expect, test, vi } from 'vitest';
import { FakeClock, settle } from '../../../../src/base/fake-clock.ts';
import { formatSize } from '../../../../src/containers/images/image-gc-decide.ts';
import { ContainerState } from '../../../../src/provider/cri-messages.ts';
import { kubeRuntimeOver } from '../../../support/kube-runtime.ts';
import { MemoryRuntime } from '../../../support/memory-runtime.ts';
import { noFiles } from '../../../support/no-files.ts';

const policy = { minAgeMs: 0, maxPerPodContainer: 1, maxContainers: -1 };
const pods = (gone: boolean) => ({
  allSourcesReady: true,
  evictNonDeletedPods: false,
  shouldPodContentBeRemoved: () => gone,
  shouldPodRuntimeBeRemoved: () => gone,
});

async function withDeadPod(deadInstancesKept?: number) {
  const clock = new FakeClock(1e12);
  let tick = 0;
  const runtime = new MemoryRuntime(() => clock.now() * 1e6 + ++tick * 1e4);
  const removed: string[] = [];
  const files = {
    ...noFiles,
    directoriesIn: async () => ['ns_web_u', 'ns_other_v'],
    remove: async (path: string) => void removed.push(path),
  };
  const { provider, events } = kubeRuntimeOver(runtime, clock, {
    files,
    ...(deadInstancesKept !== undefined && { deadInstancesKept }),
  });
  const labels = { 'io.kubernetes.pod.uid': 'u', 'io.kubernetes.container.name': 'main' };
  const metadata = { name: 'web', namespace: 'ns', uid: 'u' };
  const { podSandboxId } = await runtime.runPodSandbox({ config: { metadata, labels } });
  for (const attempt of [0, 1]) {
    const config = { metadata: { name: 'main', attempt }, labels };
    const { containerId } = await runtime.createContainer({ podSandboxId, config });
    await runtime.startContainer({ containerId });
    runtime.change(containerId, { state: ContainerState.CONTAINER_EXITED });
  }
  await runtime.stopPodSandbox({ podSandboxId });
  clock.set(clock.now() + 1000);
  runtime.calls.length = 0;
  return { provider, runtime, removed, events };
}

test('of a pod that is there, the newest dead container and the sandbox stay', async () => {
  const { provider, runtime, removed } = await withDeadPod();
  await provider.containerGc.collect(policy, pods(false));
  expect(runtime.calls).toEqual(['RemoveContainer main#0']);
  expect(runtime.sandboxes.size).toBe(1);
  expect(removed).toEqual([]);
});

test('of a pod that is gone nothing stays, its logs neither', async () => {
  const { provider, runtime, removed } = await withDeadPod();
  await provider.containerGc.collect(policy, pods(true));
  expect([runtime.containers.size, runtime.sandboxes.size]).toEqual([0, 0]);
  expect(removed).toEqual(['/var/log/pods/ns_web_u', '/var/log/pods/ns_other_v']);
});

test('what cannot be removed is left for the next round', async () => {
  const { provider, runtime } = await withDeadPod();
  runtime.failures.set('RemoveContainer', 'busy');
  await provider.containerGc.collect(policy, pods(true));
  expect(runtime.containers.size).toBe(1);
  await provider.containerGc.collect(policy, pods(true));
  expect([runtime.containers.size, runtime.sandboxes.size]).toEqual([0, 0]);
});

test('a container that several want removed at a time is removed once, and all of them wait for it', async () => {
  const { provider, runtime } = await withDeadPod();
  const [id = ''] = runtime.containers.keys();
  const both = [provider.remover.remove(id), provider.remover.removeWithoutLogs(id)];
  await Promise.all([...both, provider.remover.remove(id)]);
  expect(runtime.calls).toEqual(['RemoveContainer main#0']);
  expect(runtime.containers.size).toBe(1);
  await provider.remover.remove(id); // it is gone: nothing to do
});

test('all callers of a failed removal get the error, and may retry', async () => {
  const { provider, runtime } = await withDeadPod();
  const [id = ''] = runtime.containers.keys();
  runtime.failures.set('RemoveContainer', 'busy');
  const ends = await Promise.allSettled([provider.remover.remove(id), provider.remover.remove(id)]);
  expect(ends.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  await provider.remover.remove(id);
  expect(runtime.containers.size).toBe(1);
});

test('a container of unknown state is stopped before it is removed', async () => {
  const { provider, runtime } = await withDeadPod();
  for (const id of runtime.containers.keys()) runtime.change(id, { state: ContainerState.CONTAINER_UNKNOWN });
  await provider.containerGc.collect(policy, pods(true));
  expect(runtime.calls.slice(0, 2)).toEqual(['StopContainer main#0 timeout=2', 'RemoveContainer main#0']);
});

test('dead instances of the container that ended go at once, but for the newest (R42)', async () => {
  const { provider, runtime } = await withDeadPod();
  const status = await provider.getPodStatus({ uid: 'u', name: 'web', namespace: 'ns' });
  await provider.deleteContainers('', status, 1);
  expect(runtime.calls).toEqual(['RemoveContainer main#0']);
});

test.for([
  [undefined, ['RemoveContainer main#0']],
  [-1, ['RemoveContainer main#0']],
  [2, []],
] as const)(
  'of the dead instances of a container that lives on, %s stay, but one at least',
  async ([kept, removed]) => {
    const { provider, runtime } = await withDeadPod(kept);
    const status = await provider.getPodStatus({ uid: 'u', name: 'web', namespace: 'ns' });
    provider.removeDeadContainers('u', false, status);
    await settle();
    expect(runtime.calls).toEqual(removed);
  },
);

test('the ends of several containers remove a dead one once, by what was seen last', async () => {
  const { provider, runtime } = await withDeadPod();
  const status = await provider.getPodStatus({ uid: 'u', name: 'web', namespace: 'ns' });
  const looked = vi.spyOn(runtime, 'listContainers');
  provider.removeDeadContainers('u', true, status);
  provider.removeDeadContainers('u', true, status);
  await settle();
  expect(runtime.calls.toSorted()).toEqual(['RemoveContainer main#0', 'RemoveContainer main#1']);
  expect(looked).not.toHaveBeenCalled();
});

test('a link for log collectors is removed when its log no longer exists and is not being rotated', async () => {
  const runtime = new MemoryRuntime(() => 1);
  const metadata = { name: 'web', namespace: 'ns', uid: 'u' };
  const { podSandboxId } = await runtime.runPodSandbox({ config: { metadata } });
  const created = async (name: string): Promise<string> => {
    const { containerId } = await runtime.createContainer({ podSandboxId, config: { metadata: { name } } });
    await runtime.startContainer({ containerId });
    return containerId;
  };
  const [runs, ended] = [await created('runs'), await created('ended')];
  runtime.change(ended, { state: ContainerState.CONTAINER_EXITED });
  const whole = ['of_another_agent-id1.log', `web_ns_new-${ended}.log`, 'written-by-hand.log'];
  const dead = [`web_ns_ended-${ended}.log`, 'web_ns_gone-id2.log', 'odd.log'];
  const kept = [`web_ns_runs-${runs}.log`, 'notes.txt'];
  const removed: string[] = [];
  const files = {
    ...noFiles,
    filesIn: async () => [...whole, ...dead, ...kept],
    exists: async (path: string) => whole.some((name) => path === `/links/${name}`),
    remove: async (path: string) => void removed.push(path),
  };
  const { provider } = kubeRuntimeOver(runtime, new FakeClock(0), { files, containerLogsRoot: '/links' });
  await provider.containerGc.collect(policy, pods(false));
  expect(removed).toEqual(dead.map((name) => `/links/${name}`));
});

test.for([
  [1280, '1.2 KiB'],
  [1792, '1.8 KiB'],
  [2304, '2.2 KiB'],
  [1331, '1.3 KiB'],
  [2 ** 52, '4096.0 TiB'],
] as const)('%d bytes are shown as %s: halfway to the even digit', ([bytes, text]) => {
  expect(formatSize(bytes)).toBe(text);
});
