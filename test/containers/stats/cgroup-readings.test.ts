import { describe, expect, test } from 'vitest';
import { CgroupReadings } from '../../../src/containers/stats/cgroup-readings.ts';
import { type CgroupFiles } from '../../../src/containers/cm/files.ts';
import { detectCgroups } from '../../../src/containers/cm/host.ts';
import { cgroupSeries } from '../../../src/containers/stats/cgroup-series.ts';
import { strayProcesses, systemCgroups } from '../../../src/containers/cm/system.ts';
import { CgroupTree } from '../../../src/containers/cm/tree.ts';
import type { ProcessFiles } from '../../../src/containers/cm/process-files.ts';
import type { CgroupReading, CgroupSeries } from '../../../src/containers/stats/cgroup-metrics.ts';
import { cadvisorMetrics } from '../../../src/server/usage-metrics.ts';
import { fullUsage } from './usage.ts';
import { FakeCgroups } from '../../support/fake-cgroups.ts';
import { interfaceUsage } from '../../../src/containers/stats/interface-usage.ts';

type Texts = Readonly<Record<string, string>>;

const reader =
  (files: Texts) =>
  (_controller: string, file: string): string | undefined =>
    files[file];

/** Series as `family{labels}`: value. */
const shown = (series: readonly CgroupSeries[]): Readonly<Record<string, number>> =>
  Object.fromEntries(
    series.map(({ family, value, labels }) => [
      `${family.replace('container_', '')}${labels ? `{${Object.values(labels).join()}}` : ''}`,
      value,
    ]),
  );

describe('one cgroup', () => {
  test('of version 2', () => {
    const read = reader({
      'cpu.stat':
        'usage_usec 3000000\nuser_usec 2000000\nsystem_usec 1000000\nnr_periods 5\nnr_throttled 2\nthrottled_usec 500000\n',
      'cpu.max': '20000 100000\n',
      'cpu.weight': '1\n',
      'memory.current': '1000\n',
      'memory.max': '4096\n',
      'memory.swap.max': 'max\n',
      'memory.min': '0\n',
      'memory.peak': '2000\n',
      'memory.events': 'low 0\nmax 3\noom_kill 1\n',
      'memory.stat':
        'anon 300\nfile 400\nfile_mapped 50\ninactive_file 100\nactive_file 7\npgfault 9\npgmajfault 2\n',
      'pids.current': '4\n',
      'pids.max': 'max\n',
      'io.stat': '254:0 rbytes=10 wbytes=20 rios=1 wios=2 dbytes=0 dios=0\n',
      'io.pressure':
        'some avg10=0.00 avg60=0.00 avg300=0.00 total=2000000\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=1000000\n',
    });
    expect(shown(cgroupSeries(read, 2))).toEqual({
      'cpu_usage_seconds_total{total}': 3,
      cpu_user_seconds_total: 2,
      cpu_system_seconds_total: 1,
      cpu_cfs_periods_total: 5,
      cpu_cfs_throttled_periods_total: 2,
      cpu_cfs_throttled_seconds_total: 0.5,
      memory_usage_bytes: 1000,
      memory_working_set_bytes: 900,
      memory_rss: 300,
      memory_cache: 400,
      memory_mapped_file: 50,
      memory_total_active_file_bytes: 7,
      memory_total_inactive_file_bytes: 100,
      memory_swap: 0,
      memory_failcnt: 3,
      memory_max_usage_bytes: 2000,
      'memory_failures_total{pgfault,container}': 9,
      'memory_failures_total{pgfault,hierarchy}': 9,
      'memory_failures_total{pgmajfault,container}': 2,
      'memory_failures_total{pgmajfault,hierarchy}': 2,
      oom_events_total: 1,
      threads: 4,
      threads_max: 0,
      spec_cpu_shares: 2,
      spec_cpu_period: 100_000,
      spec_cpu_quota: 20_000,
      spec_memory_limit_bytes: 4096,
      spec_memory_swap_limit_bytes: 0,
      spec_memory_reservation_limit_bytes: 0,
      'blkio_device_usage_total{254:0,254,0,Read}': 10,
      'blkio_device_usage_total{254:0,254,0,Write}': 20,
      'fs_reads_bytes_total{254:0}': 10,
      'fs_reads_total{254:0}': 1,
      'fs_writes_bytes_total{254:0}': 20,
      'fs_writes_total{254:0}': 2,
      pressure_io_waiting_seconds_total: 2,
      pressure_io_stalled_seconds_total: 1,
    });
  });

  test('of version 1, without a quota', () => {
    const read = reader({
      'cpuacct.usage': '3000000000\n',
      'cpuacct.usage_user': '2000000000\n',
      'cpuacct.usage_sys': '1000000000\n',
      'cpu.stat': 'nr_periods 5\n',
      'cpu.shares': '102\n',
      'cpu.cfs_quota_us': '-1\n',
      'cpu.cfs_period_us': '100000\n',
      'memory.usage_in_bytes': '1000\n',
      'memory.limit_in_bytes': '9223372036854771712\n',
      'memory.stat': 'total_cache 5\ntotal_rss 6\n',
      'blkio.throttle.io_service_bytes_recursive': '254:0 Read 10\n254:0 Total 10\nTotal 10\n',
      'blkio.throttle.io_serviced_recursive': '254:0 Read 1\n254:0 Total 1\nTotal 1\n',
    });
    const all = shown(cgroupSeries(read, 1));
    expect(all).toMatchObject({
      cpu_user_seconds_total: 2,
      cpu_system_seconds_total: 1,
      memory_cache: 5,
      memory_rss: 6,
      spec_cpu_shares: 102,
      spec_cpu_period: 100_000,
      spec_memory_limit_bytes: 0,
      spec_memory_swap_limit_bytes: 0,
      'blkio_device_usage_total{254:0,254,0,Total}': 10,
      'fs_reads_bytes_total{254:0}': 10,
      'fs_reads_total{254:0}': 1,
    });
    expect(Object.keys(all).filter((name) => /quota|cfs|pressure/.test(name))).toEqual([]);
  });

  test('that is gone tells nothing', () => {
    expect(cgroupSeries(() => undefined, 2)).toEqual([]);
  });
});

const kernel: Texts = {
  '/proc/self/mountinfo': '20 1 254:0 / / rw - ext4 /dev/vda rw\n21 20 0:5 / /dev rw - devtmpfs udev rw\n',
  '/proc/diskstats': ' 254 0 vda 1 2 3 4000 5 6 7 8000 9 10000 11000 0 0\n',
  '/proc/net/dev': 'head\n eth0: 1 2 3 4 0 0 0 0 5 6 7 8 0 0 0 0\n vethx: 9 9 9 9 0 0 0 0 9 9 9 9 0 0 0 0\n',
  '/proc/7/net/dev': ' lo: 9 9 9 9 0 0 0 0 9 9 9 9 0 0 0 0\n eth0: 10 20 0 0 0 0 0 0 50 60 0 0 0 0 0 0\n',
  '/proc/8/limits': 'Limit  Soft Limit  Hard Limit  Units\nMax open files  1024  4096  files\n',
};
const processes: ProcessFiles = {
  read: (path) => kernel[path],
  links: (path) => (path === '/proc/8/fd' ? ['/dev/null', 'socket:[1]', 'pipe:[2]'] : []),
};

const pod = {
  metadata: { name: 'web', namespace: 'ns', uid: 'uid-web' },
  status: { qosClass: 'BestEffort' },
};

async function readings(files: CgroupFiles, root: string): Promise<readonly CgroupReading[]> {
  const host = detectCgroups(files, root);
  if (!host) throw new Error('no cgroups');
  const tree = new CgroupTree({ files, host, driver: 'cgroupfs' });
  const kubepods = ['kubepods'];
  const system = systemCgroups({ runtime: '/runtime.slice' }, '0::/\n', 2);
  const reader = new CgroupReadings({
    ...{ tree, plain: tree, version: host.version, kubepods, system, files: processes, root: '/' },
  });
  return reader.collect(fullUsage, new Map([['uid-web', pod]]));
}

test('the machine, the cgroups above pods, pods, sandboxes and containers are reported', async () => {
  const fake = FakeCgroups.v2();
  const path = `${fake.root}/kubepods/besteffort/poduid-web`;
  for (const folder of ['/kubepods', '/kubepods/besteffort', '/kubepods/burstable', '/runtime.slice'])
    fake.makeFolder(`${fake.root}${folder}`);
  for (const folder of [path, `${path}/c1`, `${path}/sandbox`]) fake.makeFolder(folder);
  fake.contents.set(`${path}/c1/cgroup.procs`, '8\n9\n');
  fake.contents.set(`${path}/sandbox/cgroup.procs`, '7\n');
  const all = await readings(fake, fake.root);
  expect(all.map(({ labels }) => labels.id)).toEqual([
    '/',
    '/kubepods',
    '/kubepods/burstable',
    '/kubepods/besteffort',
    '/runtime.slice',
    '/kubepods/besteffort/poduid-web',
    '/kubepods/besteffort/poduid-web/c1',
    '/kubepods/besteffort/poduid-web/sandbox',
  ]);
  const of = (id: string): CgroupReading =>
    all.find(({ labels }) => labels.id.endsWith(id)) ?? { labels: all[0]!.labels, at: 0, series: [] };
  expect(shown(of('/').series)).toMatchObject({
    memory_usage_bytes: 3e9,
    'fs_limit_bytes{/dev/vda}': 1e11,
    'fs_inodes_free{/dev/vda}': 9e5,
    'fs_reads_total{/dev/vda}': 1,
    'fs_read_seconds_total{/dev/vda}': 4,
    'fs_io_current{/dev/vda}': 9,
    'fs_io_time_weighted_seconds_total{/dev/vda}': 11,
    'network_receive_errors_total{eth0}': 3,
    'network_transmit_bytes_total{eth0}': 5,
  });
  expect(JSON.stringify(of('/').series)).not.toContain('veth');
  const whose = { pod: 'web', namespace: 'ns' };
  expect(of('/poduid-web').labels).toMatchObject({ ...whose, container: '', name: '' });
  expect(of('/c1').labels).toMatchObject({ ...whose, container: 'c', name: 'c1' });
  expect(shown(of('/c1').series)).toMatchObject({
    processes: 2,
    file_descriptors: 3,
    sockets: 1,
    'ulimits_soft{max_open_files}': 1024,
    'fs_usage_bytes{}': 100,
  });
  expect(of('/sandbox').labels).toMatchObject({ ...whose, container: '', name: 'sandbox' });
  expect(shown(of('/sandbox').series)).toMatchObject({
    'network_receive_packets_total{eth0}': 20,
    'network_transmit_packets_total{eth0}': 60,
  });
  const families = new Map(cadvisorMetrics(fullUsage, all).map(({ name, samples }) => [name, samples]));
  expect(families.get('container_sockets')).toEqual([
    {
      labels: {
        ...{ container: 'c', id: '/kubepods/besteffort/poduid-web/c1' },
        ...{ image: '', name: 'c1', ...whose },
      },
      value: 1,
      at: fullUsage.node.at,
    },
    expect.objectContaining({ value: 0 }),
  ]);
});

test('the agent’s own cgroup is reported when it is in one', () => {
  const own = (text: string, version: 1 | 2): unknown => systemCgroups({}, text, version);
  expect(own('0::/kubelet.slice/a.service\n', 2)).toEqual([
    { name: 'kubelet', cgroup: ['kubelet.slice', 'a.service'] },
  ]);
  expect(own('4:memory:/k\n3:cpu,cpuacct:/k\n', 1)).toEqual([{ name: 'kubelet', cgroup: ['k'] }]);
  expect(own('4:memory:/k\n3:cpu,cpuacct:/\n', 1)).toEqual([]);
  expect(systemCgroups({ kubelet: '/a', runtime: '/b', misc: '/c' }, '', 2).map(({ name }) => name)).toEqual([
    'kubelet',
    'runtime',
    'misc',
  ]);
});

test('interfaces that lead into other network namespaces are not the node’s', () => {
  expect(interfaceUsage(kernel['/proc/net/dev'] ?? '')).toEqual([
    { name: 'eth0', rxBytes: 1, rxErrors: 3, txBytes: 5, txErrors: 7 },
  ]);
});

test('processes in no cgroup are all but the first and the kernel’s own', () => {
  const read = (): string => '1\n2\n30\n31\n';
  const commands: Texts = { '/proc/1/cmdline': 'init', '/proc/2/cmdline': '', '/proc/30/cmdline': 'sshd' };
  expect(strayProcesses({ read }, { read: (path) => commands[path] })).toEqual([30]);
});
