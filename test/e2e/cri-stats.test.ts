import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { CriNode, noCriNode, onePod, shell } from './cri-node.ts';

const number = expect.any(Number) as number;
const fs = {
  ...{ availableBytes: number, capacityBytes: number, usedBytes: number },
  ...{ inodesFree: number, inodes: number, inodesUsed: number },
};
const cpu = { usageNanoCores: number, usageCoreNanoSeconds: number };
const memory = {
  ...{ availableBytes: number, usageBytes: number, workingSetBytes: number, rssBytes: number },
  ...{ pageFaults: number, majorPageFaults: number },
};

/** Beside those of its pods. */
const agentCgroup = `/podtender-e2e-${process.pid}/agent`;

interface Summary {
  readonly node: { readonly systemContainers: readonly { readonly name: string }[] };
  readonly pods: readonly { readonly podRef: { readonly name: string } }[];
}

/** What the Kubernetes project's suite for nodes asks of `/stats/summary` and `/metrics/cadvisor`. */
describe.skipIf(noCriNode !== undefined)('what a node says is used', { timeout: 60_000 }, () => {
  let node: CriNode;

  beforeAll(async () => {
    node = await CriNode.start({ args: [`--kubelet-cgroups=${agentCgroup}`] });
    const volumeMounts = [{ name: 'v', mountPath: '/v' }];
    // started again once: the run before must not count beside the present one
    const script =
      '[ -e /v/f ] || { touch /v/f; exit 1; }; echo some > /layer; while :; do echo much >> /v/f; echo said; sleep 1; done';
    const resources = { limits: { memory: '80M' } };
    await node.create(
      onePod(
        'used',
        { ...shell(script), volumeMounts, resources },
        { volumes: [{ name: 'v', emptyDir: {} }] },
      ),
    );
    const isBack = (restarts?: number, running?: object): boolean => restarts === 1 && running !== undefined;
    await node.until('used', ({ status }) => {
      const [c] = status?.containerStatuses ?? [];
      return isBack(c?.restartCount, c?.state?.running);
    });
  }, 60_000);

  afterAll(async () => {
    await node.stop();
  }, 60_000);

  const ask = (path: string): Promise<string> =>
    node.agent.ok(['get', '--raw', `/api/v1/nodes/e2e/proxy${path}`]);

  test('the summary has all of node, system, pods, containers, volumes and networks', async () => {
    const summary = async (): Promise<Summary> => JSON.parse(await ask('/stats/summary')) as Summary;
    const used = async (): Promise<unknown> =>
      (await summary()).pods.find(({ podRef }) => podRef.name === 'used');
    await expect.poll(used, { timeout: 20_000, interval: 1500 }).toMatchObject({
      ...{ cpu, memory, process_stats: { process_count: number } },
      network: { name: 'eth0', rxBytes: number, txBytes: number, interfaces: [{ name: 'eth0' }] },
      containers: [{ name: 'c', cpu, memory, rootfs: fs, logs: fs }],
      volume: expect.arrayContaining([expect.objectContaining({ name: 'v', ...fs })]) as unknown,
      'ephemeral-storage': fs,
    });
    const told = await summary();
    expect(told.node).toMatchObject({
      ...{ cpu, memory, fs, network: { interfaces: expect.any(Array) as unknown } },
      runtime: { imageFs: fs, containerFs: fs },
      rlimit: { maxpid: number, curproc: number },
    });
    const [pods, agent] = told.node.systemContainers;
    expect(pods).toMatchObject({ name: 'pods', cpu, memory });
    const { availableBytes: _, ...unlimited } = memory;
    expect(agent).toMatchObject({ name: 'kubelet', cpu, memory: unlimited });
    expect(agent).not.toHaveProperty('memory.availableBytes');
  });

  test('the metrics of cgroups are there, for the present run of a container alone', async () => {
    const lines = (await ask('/metrics/cadvisor')).split('\n');
    const values = (family: string): readonly number[] =>
      lines
        .filter((line) => line.startsWith(`${family}{`) && line.includes('container="c"'))
        .map((line) => Number(/\} (\S+)/.exec(line)?.[1]));
    const between = (family: string, least: number, most: number): void => {
      const found = values(family);
      expect(found.length, family).toBeGreaterThan(0);
      for (const value of found) {
        expect(value, family).toBeGreaterThanOrEqual(least);
        expect(value, family).toBeLessThanOrEqual(most);
      }
    };
    between('container_cpu_usage_seconds_total', 0.001, 100);
    between('container_file_descriptors', 1, 100);
    between('container_processes', 1, 10);
    between('container_threads', 1, 10);
    between('container_ulimits_soft', 1, 2 ** 30);
    between('container_memory_rss', 10_000, 8e7);
    between('container_memory_swap', 0, 0);
    between('container_oom_events_total', 0, 0);
    between('container_spec_cpu_period', 100_000, 100_000);
    between('container_spec_cpu_shares', 2, 2);
    between('container_spec_memory_limit_bytes', 79_953_920, 79_998_976);
    expect(values('container_start_time_seconds')).toHaveLength(1);
    for (const family of ['container_fs_io_current', 'container_network_receive_bytes_total'])
      expect(
        lines.some((line) => line.startsWith(`${family}{`)),
        family,
      ).toBe(true);
  });

  test('the agent is in the cgroup that it was told to be in', () => {
    const own = readFileSync(`/proc/${node.agent.child.pid ?? 0}/cgroup`, 'utf8');
    expect(own).toContain(`:${agentCgroup}\n`);
  });
});
