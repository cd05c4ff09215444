import { setImmediate as nextTurn } from 'node:timers/promises';
import { type CgroupName, podCgroup, qosCgroup } from '../../kube/cgroup.ts';
import type { Pod } from '../../kube/types.ts';
import type { CgroupFamily, CgroupLabels, CgroupReading, CgroupSeries } from './cgroup-metrics.ts';
import type { NodeUsage, ServedContainerUsage, ServedPodUsage, Usage } from './usage.ts';
import { bareId, containerOfCgroup } from './cgroup-stats.ts';
import type { CgroupHost } from '../cm/host.ts';
import { cgroupSeries } from './cgroup-series.ts';
import type { SystemCgroup } from '../cm/system.ts';
import type { CgroupTree } from '../cm/tree.ts';
import { diskOf } from './disk-counters.ts';
import type { ProcessFiles } from '../cm/process-files.ts';
import { type InterfaceCounters, interfacesOf } from './interface-usage.ts';

export interface CgroupReadingsDeps {
  /** Cgroup tree that spells names as the pods' driver does. */
  readonly tree: CgroupTree;
  /** Cgroup tree with literal names. */
  readonly plain: CgroupTree;
  readonly version: CgroupHost['version'];
  /** The cgroup of all pods. */
  readonly kubepods: CgroupName;
  readonly system: readonly SystemCgroup[];
  readonly files: ProcessFiles;
  /** Directory whose file system counts as the node's. */
  readonly root: string;
}

/** Labels and time of a cgroup's reading. */
interface About {
  readonly labels: Omit<CgroupLabels, 'id'>;
  /** ms since the epoch */
  readonly at: number;
  readonly startedAt: number | undefined;
}

const noLabels: About['labels'] = { name: '', image: '', container: '', pod: '', namespace: '' };

/** CgroupReadings reads the cgroups of node and pods for `/metrics/cadvisor`, as the kubelet does with cAdvisor. */
export class CgroupReadings {
  readonly #deps: CgroupReadingsDeps;

  constructor(deps: CgroupReadingsDeps) {
    this.#deps = deps;
  }

  /** Reads all cgroups; yields to other work after each pod. */
  async collect(
    { node, pods }: Usage,
    podsByUid: ReadonlyMap<string, Pod>,
  ): Promise<readonly CgroupReading[]> {
    const readings = [this.#machine(node), ...this.#abovePods(node)];
    for (const usage of pods) {
      const pod = podsByUid.get(usage.uid);
      if (pod) readings.push(...this.#pod(pod, usage, node.at));
      await nextTurn();
    }
    return readings;
  }

  #machine(node: NodeUsage): CgroupReading {
    const { files, root, plain } = this.#deps;
    const of = (family: CgroupFamily, value: number): CgroupSeries => ({ family, value });
    const own = this.#cgroup(plain, [], ofNode(node));
    const reported = new Set(own.series.map(({ family }) => family));
    // The v2 root cgroup has no memory usage of its own.
    const memory = [
      of('container_memory_usage_bytes', node.memoryUsedBytes),
      of('container_memory_working_set_bytes', node.workingSetBytes),
      of('container_memory_rss', node.rssBytes),
    ].filter(({ family }) => !reported.has(family));
    const disk = node.fs ? diskOf(root, node.fs, (path) => files.read(path)) : [];
    return {
      ...own,
      series: [...own.series, ...memory, ...disk, ...network(files.read('/proc/net/dev') ?? '')],
    };
  }

  /** Reads the cgroups above the pods and the node's own. */
  #abovePods(node: NodeUsage): readonly CgroupReading[] {
    const { tree, plain, kubepods, system } = this.#deps;
    const classes = [kubepods, qosCgroup(kubepods, 'Burstable'), qosCgroup(kubepods, 'BestEffort')];
    return [
      ...classes.map((name) => this.#cgroup(tree, name, ofNode(node))),
      ...system
        .filter(({ cgroup }) => cgroup.length > 0)
        .map(({ cgroup }) => this.#cgroup(plain, cgroup, ofNode(node))),
    ];
  }

  #pod(pod: Pod, usage: ServedPodUsage, at: number): readonly CgroupReading[] {
    const { tree, kubepods } = this.#deps;
    const name = podCgroup(kubepods, pod);
    const labels = { ...noLabels, pod: usage.name, namespace: usage.namespace };
    const about = { labels, at, startedAt: usage.startedAt };
    const byId = new Map(usage.containers.map((container) => [bareId(container.id), container]));
    return [
      this.#cgroup(tree, name, about),
      ...tree.folders(name, 'memory').map((folder) => {
        const one = containerOfCgroup(folder, byId);
        return one ? this.#container(name, folder, one, about) : this.#sandbox(name, folder, about);
      }),
    ];
  }

  #container(pod: CgroupName, folder: string, one: ServedContainerUsage, about: About): CgroupReading {
    const { id, name, image = '', startedAt, rootfsBytes } = one;
    const labels = { ...about.labels, name: bareId(id), image, container: name };
    const { series, ...rest } = this.#inside(pod, folder, { ...about, labels, startedAt });
    if (rootfsBytes === undefined) return { ...rest, series };
    const layer = { family: 'container_fs_usage_bytes', value: rootfsBytes, labels: { device: '' } } as const;
    return { ...rest, series: [...series, layer] };
  }

  /** Reads a sandbox's cgroup; the pod's network counts as the sandbox's. */
  #sandbox(pod: CgroupName, folder: string, about: About): CgroupReading {
    const labels = { ...about.labels, name: idIn(folder) };
    const { series, ...rest } = this.#inside(pod, folder, { ...about, labels });
    const [pid] = this.#pids(pod, folder);
    const devices = pid === undefined ? '' : (this.#deps.files.read(`/proc/${pid}/net/dev`) ?? '');
    return { ...rest, series: [...series, ...network(devices)] };
  }

  /** Reads the cgroups with processes directly below a pod's cgroup. */
  #inside(pod: CgroupName, folder: string, { labels, at, startedAt }: About): CgroupReading {
    const { tree, version, files } = this.#deps;
    const own = cgroupSeries((controller, file) => tree.read(pod, controller, `${folder}/${file}`), version);
    return {
      labels: { id: `${tree.path(pod)}/${folder}`, ...labels },
      at,
      series: [...times(at, startedAt), ...own, ...processSeries(this.#pids(pod, folder), files)],
    };
  }

  #pids(pod: CgroupName, folder: string): readonly string[] {
    return (this.#deps.tree.read(pod, 'memory', `${folder}/cgroup.procs`) ?? '').split('\n').filter(Boolean);
  }

  #cgroup(tree: CgroupTree, name: CgroupName, { labels, at, startedAt }: About): CgroupReading {
    const own = cgroupSeries((controller, file) => tree.read(name, controller, file), this.#deps.version);
    return { labels: { id: tree.path(name), ...labels }, at, series: [...times(at, startedAt), ...own] };
  }
}

const ofNode = ({ at, bootedAt }: NodeUsage): About => ({ labels: noLabels, at, startedAt: bootedAt });

/** Returns the runtime's own id in a cgroup name. */
const idIn = (folder: string): string => folder.replace(/\.scope$/, '').replace(/^.*-/, '');

const times = (at: number, startedAt: number | undefined): readonly CgroupSeries[] => [
  { family: 'container_last_seen', value: Math.floor(at / 1000) },
  ...(startedAt === undefined
    ? []
    : [{ family: 'container_start_time_seconds' as const, value: Math.floor(startedAt / 1000) }]),
];

/**
 * Returns the number of files and sockets that a container's processes hold open, and the open file limit of its first process, as cAdvisor
 * does.
 */
function processSeries(pids: readonly string[], files: ProcessFiles): readonly CgroupSeries[] {
  const open = pids.flatMap((pid) => files.links(`/proc/${pid}/fd`));
  const [first] = pids;
  const limits = first === undefined ? '' : (files.read(`/proc/${first}/limits`) ?? '');
  const [, soft] = /^Max open files\s+(\d+|unlimited)/m.exec(limits) ?? [];
  return [
    { family: 'container_processes', value: pids.length },
    { family: 'container_file_descriptors', value: open.length },
    { family: 'container_sockets', value: open.filter((target) => target.startsWith('socket:')).length },
    ...(soft === undefined
      ? []
      : [
          {
            family: 'container_ulimits_soft' as const,
            value: soft === 'unlimited' ? -1 : Number(soft),
            labels: { ulimit: 'max_open_files' },
          },
        ]),
  ];
}

const networkFamilies = {
  container_network_receive_bytes_total: 'rxBytes',
  container_network_receive_packets_total: 'rxPackets',
  container_network_receive_packets_dropped_total: 'rxDropped',
  container_network_receive_errors_total: 'rxErrors',
  container_network_transmit_bytes_total: 'txBytes',
  container_network_transmit_packets_total: 'txPackets',
  container_network_transmit_packets_dropped_total: 'txDropped',
  container_network_transmit_errors_total: 'txErrors',
} as const satisfies Readonly<Partial<Record<CgroupFamily, keyof InterfaceCounters>>>;

const network = (text: string): readonly CgroupSeries[] =>
  interfacesOf(text).flatMap((one) =>
    Object.entries(networkFamilies).map(([family, key]) => ({
      family: family as CgroupFamily,
      value: one[key],
      labels: { interface: one.name },
    })),
  );
