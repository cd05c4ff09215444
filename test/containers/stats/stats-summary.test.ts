import { expect, test } from 'vitest';
import { statsSummary } from '../../../src/containers/stats/stats-summary.ts';
import type { UsageDetails } from '../../../src/containers/stats/usage.ts';
import { fullUsage } from './usage.ts';

const time = '2026-01-01T00:00:00Z';
const psi = { some: { total: 5 }, full: { total: 1 } };
const runtimeFs = { time, availableBytes: 6e10, capacityBytes: 1e11, usedBytes: 2e6 };
const details: UsageDetails = {
  node: {
    memory: { time, availableBytes: 1, psi },
    io: { time, psi },
    systemContainers: [
      { name: 'pods', cpu: { time, usageCoreNanoSeconds: 7 }, swap: { time, swapUsageBytes: 0 } },
    ],
    runtime: { imageFs: runtimeFs, containerFs: runtimeFs },
  },
  pods: [
    {
      podRef: { uid: 'uid-web' },
      ...{
        cpu: { time, usageCoreNanoSeconds: 20_000_000, psi },
        swap: { time, swapUsageBytes: 3 },
        volume: [{ name: 'data', time: '2026-01-01T00:00:00.123Z', usedBytes: 8192, inodesUsed: 2 }],
        'ephemeral-storage': { time, usedBytes: 300, inodesUsed: 5 },
        process_stats: { process_count: 4 },
      },
      containers: [{ name: 'c', ...{ logs: { time, usedBytes: 200, inodesUsed: 1 } } }],
    },
    { podRef: { uid: 'uid-gone' } },
  ],
};

test('what cgroups, volumes and the runtime tell stands beside what containers use', () => {
  expect(statsSummary('n', fullUsage, false, details)).toMatchObject({
    node: {
      nodeName: 'n',
      cpu: { usageCoreNanoSeconds: 5e12 },
      memory: { availableBytes: 6e9, workingSetBytes: 2e9, psi },
      io: { psi },
      fs: { capacityBytes: 1e11, inodesUsed: 1e5 },
      runtime: { imageFs: runtimeFs, containerFs: runtimeFs },
      rlimit: { maxpid: 32_768, curproc: 100 },
      swap: { swapAvailableBytes: 1e9 },
      network: { name: 'eth0', interfaces: [{ name: 'eth0' }] },
      systemContainers: [
        { name: 'pods', startTime: '2025-12-31T23:00:00Z', cpu: { usageCoreNanoSeconds: 7 } },
      ],
    },
    pods: [
      {
        podRef: { name: 'web', namespace: 'ns', uid: 'uid-web' },
        startTime: '2025-12-31T23:59:00Z',
        // the pod's cgroup has what its containers use and more
        cpu: { usageCoreNanoSeconds: 20_000_000, psi },
        memory: { workingSetBytes: 4096 },
        swap: { swapUsageBytes: 3 },
        volume: [{ name: 'data', time, usedBytes: 8192, inodesUsed: 2 }],
        'ephemeral-storage': { capacityBytes: 1e11, availableBytes: 6e10, usedBytes: 300, inodesUsed: 5 },
        process_stats: { process_count: 4 },
        containers: [
          {
            name: 'c',
            cpu: { usageCoreNanoSeconds: 12_345_678 },
            rootfs: { usedBytes: 100, inodesUsed: 3 },
            logs: { capacityBytes: 1e11, usedBytes: 200, inodesUsed: 1 },
          },
        ],
      },
    ],
  });
});

test('a summary of CPU and memory contains nothing else', () => {
  const { node, pods } = statsSummary('n', fullUsage, true, details) as {
    node: object;
    pods: readonly { containers: readonly object[] }[];
  };
  expect(Object.keys(node).sort()).toEqual(['cpu', 'memory', 'nodeName', 'startTime', 'systemContainers']);
  expect(Object.keys(pods[0] ?? {}).sort()).toEqual(['containers', 'cpu', 'memory', 'podRef', 'startTime']);
  expect(Object.keys(pods[0]?.containers[0] ?? {})).toEqual(['name', 'startTime', 'cpu', 'memory']);
  expect(JSON.stringify(node)).not.toContain('swap');
});

test('without details there is what containers use', () => {
  const { pods } = statsSummary('n', fullUsage, false) as { pods: readonly object[] };
  expect(Object.keys(pods[0] ?? {})).toEqual(['podRef', 'startTime', 'containers', 'cpu', 'memory']);
});

test('the interface that counts is eth0; without one all of them stand there alone', () => {
  const network = (...names: readonly string[]): unknown => {
    const interfaces = names.map((name) => ({ name, rxBytes: 1, rxErrors: 0, txBytes: 2, txErrors: 0 }));
    const usage = { ...fullUsage, node: { ...fullUsage.node, interfaces } };
    return (statsSummary('n', usage, false) as { node: { network?: object } }).node.network;
  };
  expect(network('ens4', 'eth0')).toMatchObject({ name: 'eth0', rxBytes: 1, interfaces: [{}, {}] });
  expect(network('ens4')).toEqual({ time, name: '', interfaces: [expect.anything()] });
  expect(network()).toBeUndefined();
});
