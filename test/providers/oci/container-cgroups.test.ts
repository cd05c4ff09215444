import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import type { ContainerConfig, LinuxContainerResources } from '../../../src/provider/cri-messages.ts';
import { firstChild } from '../../../src/processes/proc.ts';
import { admitOciPod } from '../../../src/providers/oci/admission.ts';
import { delegatedHere } from '../../../src/providers/oci/oci-runtime.ts';
import { makeOciBench, type OciBench } from './harness.ts';

let bench: OciBench | undefined;
afterEach(async () => {
  await bench?.end();
  bench = undefined;
});

const hasRoot = process.getuid?.() === 0;
const { host, controllers } = hasRoot ? delegatedHere() : { host: undefined, controllers: [] };
const has = (...names: readonly string[]): boolean =>
  names.every((name) => controllers.some((own) => own === name));
const isV1 = host?.version === 1;
const limited = (resources: LinuxContainerResources): ContainerConfig => ({ linux: { resources } });
const mebibyte = 1024 * 1024;

/** Returns the directory of a container's cgroup in the hierarchy of a controller. */
function cgroupOf({ dir }: OciBench, id: string, controller: string): string {
  const text = readFileSync(join(dir, 'oci', 'containers', id, 'cgroup.json'), 'utf8');
  const record = JSON.parse(text) as { host: NonNullable<typeof host>; name: string[] };
  const hierarchy = record.host.hierarchies.find((each) => each.controllers.includes(controller));
  return join(hierarchy?.mount ?? '', ...record.name);
}

const file = (name: string, v1: string, v2: string): string => join(name, isV1 ? v1 : v2);
const read = (path: string): string => readFileSync(path, 'utf8').trim();

describe.runIf(has('memory', 'cpu'))('a container where cgroups are delegated', () => {
  test('has its limits before its program runs, for exec too, and its cgroup goes with it', async () => {
    const own = (bench = await makeOciBench('auto'));
    const resources = {
      cpuShares: 512,
      cpuQuota: 50_000,
      cpuPeriod: 100_000,
      memoryLimitInBytes: 64 * mebibyte,
    };
    const id = await own.run(['sh', '-c', 'echo up; sleep 999'], limited(resources));
    await own.says('up');
    const [cpu, memory] = [cgroupOf(own, id, 'cpu'), cgroupOf(own, id, 'memory')];
    expect(read(file(memory, 'memory.limit_in_bytes', 'memory.max'))).toBe(String(64 * mebibyte));
    expect(read(file(cpu, 'cpu.cfs_quota_us', 'cpu.max'))).toBe(isV1 ? '50000' : '50000 100000');
    expect(read(join(memory, 'cgroup.procs')).split('\n').length).toBeGreaterThan(1);
    const cgroups = await own.exec(id, ['cat', '/proc/self/cgroup']);
    expect(cgroups).toContain(id);
    await own.restart();
    await own.oci.runtime.stopContainer({ containerId: id, timeout: 0 });
    await own.oci.runtime.removeContainer({ containerId: id });
    expect([cpu, memory].filter((path) => existsSync(path))).toEqual([]);
    expect(existsSync(join(memory, '..', '..'))).toBe(false);
  });

  test('is OOMKilled when it takes more memory than its limit', async () => {
    const own = (bench = await makeOciBench('auto'));
    const id = await own.run(
      ['sh', '-c', 'x=0123456789abcdef; while :; do x=$x$x; done'],
      limited({ memoryLimitInBytes: 16 * mebibyte }),
    );
    expect(await own.exited(id)).toMatchObject({ exitCode: 137, reason: 'OOMKilled' });
  });
});

test.runIf(hasRoot)('a container whose first process is killed has exit code 137', async () => {
  const own = (bench = await makeOciBench('namespaces'));
  const id = await own.run(['sh', '-c', 'echo up; exec sleep 999']);
  await own.says('up');
  const first = firstChild(own.oci.runtime.container(id).pid ?? 0);
  if (first === undefined) throw new Error('the container has no process');
  process.kill(first, 'SIGKILL');
  expect(await own.exited(id)).toMatchObject({ exitCode: 137, reason: 'Error' });
});

test.runIf(has('pids'))('a pod cannot have more processes than its limit', async () => {
  const own = (bench = await makeOciBench('auto', undefined, { podPidsLimit: 12 }));
  const script = 'i=0; while [ $i -lt 40 ]; do sleep 5 & i=$((i+1)); done; echo all';
  await own.exited(await own.run(['sh', '-c', script]));
  expect(own.log()).toMatch(/can't fork|Resource temporarily unavailable/);
});

test('limits without a delegated controller are named at admission, others are not', () => {
  const limits = { cpu: '1', memory: '1Gi', 'ephemeral-storage': '1Gi' };
  const pod = { spec: { containers: [{ name: 'main', image: 'box', resources: { limits } }] } };
  const isolation = { kind: 'namespaces', rootless: false, mounts: true } as const;
  const verdict = (names: readonly string[]): unknown =>
    admitOciPod(pod, [], { isolation, controllers: names, hasTerminals: true });
  const warned = (names: string): unknown => ({
    admit: true,
    warnings: [`container "main": limits on ${names} are not enforced by the OCI provider`],
  });
  expect(verdict([])).toEqual(warned('cpu, memory, ephemeral-storage'));
  expect(verdict(['cpu', 'memory'])).toEqual(warned('ephemeral-storage'));
});
