import type { Usage } from '../../../src/containers/stats/usage.ts';

const at = Date.UTC(2026, 0, 1);

/** A node and a pod of which everything is known. */
export const fullUsage: Usage = {
  node: {
    at,
    bootedAt: at - 3_600_000,
    cpuNanos: 5e12,
    cpuNanoCores: 2e8,
    memoryTotalBytes: 8e9,
    memoryAvailableBytes: 6e9,
    memoryUsedBytes: 3e9,
    workingSetBytes: 2e9,
    rssBytes: 1e9,
    swapUsedBytes: 0,
    swapFreeBytes: 1e9,
    fs: { capacityBytes: 1e11, availableBytes: 6e10, usedBytes: 4e10, inodes: 1e6, inodesFree: 9e5 },
    interfaces: [{ name: 'eth0', rxBytes: 10, rxErrors: 0, txBytes: 20, txErrors: 1 }],
    machine: { bootId: 'boot', machineId: 'machine', systemUuid: 'uuid' },
    processes: 100,
    mostProcesses: 32_768,
  },
  pods: [
    {
      uid: 'uid-web',
      name: 'web',
      namespace: 'ns',
      startedAt: at - 60_000,
      containers: [
        {
          id: 'test://c1',
          name: 'c',
          startedAt: at - 50_000,
          at: at + 0.25,
          cpuNanos: 12_345_678,
          cpuNanoCores: 1000,
          workingSetBytes: 4096,
          memoryBytes: 8192,
          rssBytes: 2048,
          pageFaults: 5,
          majorPageFaults: 1,
          rootfsBytes: 100,
          rootfsInodes: 3,
        },
      ],
    },
  ],
};
