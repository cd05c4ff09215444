import {
  existsSync,
  globSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { systemClock } from '../../../src/base/clock.ts';
import { ContainerState, PodSandboxState } from '../../../src/provider/cri-messages.ts';
import { connectCri, type CriRuntime } from '../../../src/providers/cri/index.ts';
import { type FakeGroupView, startFakeEci } from '../../../src/providers/eci/fake/index.ts';
import { processesOf } from '../../e2e/podtender.ts';
import { type Containerd, removeEmptyCgroups, shimsOf, startContainerd } from '../containerd.ts';
import { cgroupRootOf } from '../../../src/providers/oci/container-cgroups.ts';
import { importImages, openStore } from '../../../src/providers/oci/index.ts';
import { busyboxImage, layoutOf } from '../images.ts';
import type { Pod } from '../../../src/kube/types.ts';
import { podOf, type PodSetting } from './pods.ts';

/** A running container. */
export interface RunningContainer {
  readonly id: string;
  readonly uid: string;
  readonly pod: string;
  readonly name: string;
}

/** A machine that runs pods, observed without the agent. */
export interface Bed {
  /** Whether containers have their own root file system. */
  readonly isolated: boolean;
  /** The flags of `podtender run` for this machine. */
  readonly args: readonly string[];
  /** Additional environment variables of the agent. */
  readonly env?: Readonly<Record<string, string>>;
  /** For pods that are not shell scripts: their kinds, their specs, and how often one has run. Their images do not change. */
  readonly pods?: {
    readonly kinds: readonly string[];
    readonly podOf: (name: string, kind: string, setting: PodSetting) => Pod;
    readonly runsOf: (uid: string) => number;
  };
  readonly containerd?: Containerd;
  running(): Promise<readonly RunningContainer[]>;
  /** The pods with more than one running sandbox. */
  doubledSandboxes(): Promise<readonly string[]>;
  /** Everything on the machine that belongs to pods other than these. */
  left(uids: ReadonlySet<string>): Promise<readonly string[]>;
  /**
   * What the runtime itself leaked: containerd keeps the empty shim of a sandbox whose creation was cancelled (containerd#6860, #8931,
   * #9309). No CRI call reports it, so no agent can remove it.
   */
  forgotten(): readonly string[];
  stop(): Promise<void>;
}

export interface BedOptions {
  /** The directory of the churn. */
  readonly dir: string;
  readonly mark: string;
}

/** The names in a directory; none when it does not exist. */
const namesIn = (dir: string): readonly string[] => (existsSync(dir) ? readdirSync(dir) : []);

const mountPoints = (): readonly string[] =>
  readFileSync('/proc/self/mounts', 'utf8')
    .split('\n')
    .map((line) => line.split(' ')[1] ?? '');

/** The directories and mounts of pods below the agent's directory, in the kubelet's layout. */
function leftInRoot(dir: string, uids: ReadonlySet<string>): readonly string[] {
  const pods = join(dir, 'data/agent/pods');
  const uidOf = (path: string): string => path.slice(pods.length + 1).split('/')[0] ?? '';
  return [
    ...namesIn(pods)
      .filter((uid) => !uids.has(uid))
      .map((uid) => `directory ${pods}/${uid}`),
    ...mountPoints()
      .filter((path) => path.startsWith(`${pods}/`) && !uids.has(uidOf(path)))
      .map((path) => `mount ${path}`),
  ];
}

const leftLogs = (podLogs: string, uids: ReadonlySet<string>): readonly string[] =>
  namesIn(podLogs)
    .filter((name) => !uids.has(name.slice(name.lastIndexOf('_') + 1)))
    .map((name) => `log directory ${podLogs}/${name}`);

/** Pods as local processes, observed in /proc. */
export const processBed = (options: BedOptions): Bed =>
  localBed(options, { isolated: false, args: ['--provider', 'process'], records: 'processes' });

/** Pods in the root file systems of images, which are imported first; the isolation is the best of the machine. */
export async function ociBed(options: BedOptions): Promise<Bed> {
  const { dir } = options;
  const archive = join(dir, 'images.tar');
  const images = ['localhost/busybox:1', 'localhost/busybox:2'].map((ref) => busyboxImage(ref));
  writeFileSync(archive, layoutOf(images));
  const place = { dataDir: join(dir, 'data/oci') };
  mkdirSync(place.dataDir, { recursive: true });
  const store = openStore(place, { clock: systemClock, uid: process.getuid?.() ?? 0 });
  await importImages(store, archive, { arch: process.arch });
  const bed = localBed(options, { isolated: true, args: ['--provider', 'oci'], records: 'oci' });
  const root = cgroupRootOf(place.dataDir);
  return {
    ...bed,
    left: async (uids) => [
      ...(await bed.left(uids)),
      // cgroups are named after sandboxes, not after pods
      ...(uids.size > 0 ? [] : globSync(`/sys/fs/cgroup/**/${root}`)).map((path) => `cgroup ${path}`),
    ],
  };
}

interface LocalBed extends Pick<Bed, 'isolated' | 'args'> {
  /** The provider's directory in the data directory. */
  readonly records: string;
}

function localBed({ dir, mark }: BedOptions, { isolated, args, records }: LocalBed): Bed {
  const containers = (): readonly RunningContainer[] =>
    [...processesOf(mark).keys()].flatMap((pid) => containerOf(pid));
  return {
    isolated,
    args,
    running: async () => [...new Map(containers().map((one) => [one.id, one])).values()],
    doubledSandboxes: async () => [],
    left: async (uids) => [
      ...leftInRoot(dir, uids),
      ...leftLogs(join(dir, 'data/logs/pods'), uids),
      ...containers()
        .filter(({ uid }) => !uids.has(uid))
        .map(({ pod, name, id }) => `process of container ${name} (${id}) of pod ${pod}`),
      ...leftRecords(join(dir, 'data', records), uids),
    ],
    forgotten: () => [],
    stop: async () => {
      for (const pid of processesOf(mark).keys()) process.kill(pid, 'SIGKILL');
    },
  };
}

/** The container that a process of the process provider belongs to, by its environment. */
function containerOf(pid: number): readonly RunningContainer[] {
  const words = textOf(`/proc/${pid}/environ`).split('\0');
  const value = (name: string): string =>
    words.find((word) => word.startsWith(`${name}=`))?.slice(name.length + 1) ?? '';
  const id = value('PODTENDER_CONTAINER_ID');
  return id === '' ? [] : [{ id, uid: value('POD_UID'), pod: value('POD'), name: value('CONTAINER') }];
}

function leftRecords(dir: string, uids: ReadonlySet<string>): readonly string[] {
  return globSync(['sandboxes/*', 'containers/*'], { cwd: dir })
    .map((name) => join(dir, name))
    .filter(
      (path) =>
        ![...uids].some((uid) => namesIn(path).some((file) => textOf(join(path, file)).includes(uid))),
    )
    .map((path) => `record ${path}`);
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

/** Pods in a separate containerd. @param binaries the directory of another containerd than the machine's */
export async function criBed({ dir, mark }: BedOptions, binaries?: string): Promise<Bed> {
  const images = [busyboxImage('localhost/busybox:1'), busyboxImage('localhost/busybox:2')];
  const netns = new Set(namesIn('/run/netns'));
  const containerd = await startContainerd({ images, ...(binaries !== undefined && { binaries }) });
  const runtime = connectCri(containerd.socket, { clock: systemClock });
  const podLogs = join(dir, 'logs');
  const cgroup = mark;
  mkdirSync(podLogs, { recursive: true });
  return {
    isolated: true,
    containerd,
    args: [
      '--provider=cri',
      `--container-runtime-endpoint=unix://${containerd.socket}`,
      `--cgroup-root=/${cgroup}`,
      `--pod-logs-dir=${podLogs}`,
    ],
    running: async () => {
      const filter = { state: { state: ContainerState.CONTAINER_RUNNING } };
      const { containers = [] } = await runtime.listContainers({ filter });
      return containers.map(({ id = '', labels = {} }) => ({
        id,
        uid: labels['io.kubernetes.pod.uid'] ?? '',
        pod: labels['io.kubernetes.pod.name'] ?? '',
        name: labels['io.kubernetes.container.name'] ?? '',
      }));
    },
    doubledSandboxes: async () => {
      const { items = [] } = await runtime.listPodSandbox({});
      const up = items.filter(({ state = 0 }) => state === PodSandboxState.SANDBOX_READY);
      const uids = up.map(({ metadata }) => metadata?.uid ?? '');
      return uids.filter((uid, index) => uids.indexOf(uid) !== index);
    },
    left: async (uids) => [
      ...leftInRoot(dir, uids),
      ...leftLogs(podLogs, uids),
      ...(await leftInRuntime(runtime, containerd, uids)),
      ...leftLinks(mark),
      ...leftCgroups(cgroup, uids),
      ...(uids.size > 0 ? [] : emptyNetworks(netns)).map((name) => `network namespace ${name}`),
    ],
    forgotten: () =>
      shimsOf(containerd.socket)
        .filter(({ isBusy }) => !isBusy)
        .map(({ sandbox }) => `idle shim of ${sandbox}`),
    stop: async () => {
      await runtime.close();
      await containerd.stop();
      removeEmptyCgroups(cgroup);
      for (const name of linksOf(mark)) rmSync(join(linkDir, name));
    },
  };
}

/** The network namespaces without a process, other than these; those with processes belong to other beds of this machine. */
function emptyNetworks(others: ReadonlySet<string>): readonly string[] {
  const found = namesIn('/run/netns').filter((name) => !others.has(name));
  if (found.length === 0) return [];
  const inhabited = new Set(
    readdirSync('/proc')
      .filter((entry) => /^\d+$/.test(entry))
      .map((pid) => linkOf(`/proc/${pid}/ns/net`)),
  );
  return found.filter((name) => {
    const { ino } = statSync(join('/run/netns', name), { throwIfNoEntry: false }) ?? {};
    return ino !== undefined && !inhabited.has(`net:[${ino}]`);
  });
}

function linkOf(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return ''; // the process has just ended
  }
}

async function leftInRuntime(
  runtime: CriRuntime,
  { dir, socket }: Containerd,
  uids: ReadonlySet<string>,
): Promise<readonly string[]> {
  const [{ items = [] }, { containers = [] }] = await Promise.all([
    runtime.listPodSandbox({}),
    runtime.listContainers({}),
  ]);
  const ids = new Set([...items, ...containers].map(({ id = '' }) => id));
  const unknown = (path: string): boolean =>
    path.startsWith(`${dir}/`) && ![...ids].some((id) => path.includes(id));
  return [
    ...items
      .filter(({ metadata }) => !uids.has(metadata?.uid ?? ''))
      .map(
        ({ id = '', metadata, state = 0 }) => `sandbox ${id} of pod ${metadata?.name ?? ''}, state ${state}`,
      ),
    ...containers
      .filter(({ labels = {} }) => !uids.has(labels['io.kubernetes.pod.uid'] ?? ''))
      .map(({ id = '', metadata, state = 0 }) => `container ${metadata?.name ?? ''} (${id}), state ${state}`),
    ...mountPoints()
      .filter(unknown)
      .map((path) => `mount ${path}`),
    ...shimsOf(socket)
      .filter(({ sandbox, isBusy }) => isBusy && !ids.has(sandbox))
      .map(({ sandbox }) => `shim of ${sandbox}`),
    ...addresses(dir)
      .filter((id) => !ids.has(id))
      .map((id) => `address of ${id}`),
  ];
}

/** The sandboxes with a network address: host-local writes one file per address, whose first line is the sandbox's ID. */
const addresses = (dir: string): readonly string[] =>
  globSync('ipam/*/*.*.*.*', { cwd: dir }).map((file) => textOf(join(dir, file)).split(/\s/)[0] ?? '');

const linkDir = '/var/log/containers';

/** The links for log collectors; the names of a churn's pods contain its mark. */
const linksOf = (mark: string): readonly string[] => namesIn(linkDir).filter((name) => name.startsWith(mark));

const leftLinks = (mark: string): readonly string[] =>
  linksOf(mark)
    .filter((name) => !existsSync(join(linkDir, name)))
    .map((name) => `dangling log link ${name}`);

function leftCgroups(cgroup: string, uids: ReadonlySet<string>): readonly string[] {
  return globSync(`/sys/fs/cgroup/*/${cgroup}/**/pod*`)
    .filter((path) => !uids.has(/\/pod([^/]+)$/.exec(path)?.[1] ?? ''))
    .map((path) => `cgroup ${path}`);
}

/** The behaviour of each kind of pod at the fake ECI service, by image name. */
const eciImages: Readonly<Record<string, readonly [main: string, init?: string]>> = {
  plain: ['web'],
  pair: ['web'],
  init: ['web', 'exit:0'],
  defiant: ['slow-delete:4'],
  crashing: ['crashloop'],
  done: ['sleep:1'],
  failed: ['exit:3'],
};

/** Pods as container groups of a fake ECI service in this process. */
export async function eciBed({ dir }: BedOptions): Promise<Bed> {
  const eci = await startFakeEci({ latency: 10 });
  const live = (): readonly FakeGroupView[] =>
    eci.groups.filter(({ status }) => status !== 'Succeeded' && status !== 'Failed');
  return {
    isolated: false,
    args: ['--provider', 'eci'],
    env: {
      ECI_REGION: 'cn-hangzhou',
      ECI_ENDPOINT: eci.url,
      ECI_ACCESS_KEY: 'fake-id',
      ECI_SECRET_KEY: 'fake-secret',
      ECI_SECURITY_GROUP: 'sg-1',
      ECI_VSWITCH: 'vsw-1',
      ECI_CLUSTER_NAME: 'churn',
      ECI_POLL_INTERVAL: '1',
    },
    pods: {
      kinds: Object.keys(eciImages),
      podOf: eciPod,
      runsOf: (uid) => new Set(eci.created.filter((group) => group.uid === uid).map(({ id }) => id)).size,
    },
    running: async () =>
      live().flatMap(({ id, uid, pod, containers }) =>
        containers
          .filter(({ running }) => running)
          .map(({ name, restartCount }) => ({ id: `${id}/${name}#${restartCount}`, uid, pod, name })),
      ),
    doubledSandboxes: async () => {
      const uids = live().map(({ uid }) => uid);
      return uids.filter((uid, index) => uids.indexOf(uid) !== index);
    },
    left: async (uids) => [
      ...leftInRoot(dir, uids),
      ...eci.groups
        .filter(({ uid }) => !uids.has(uid))
        .map(({ id, pod, status }) => `group ${id} of pod ${pod}, ${status}`),
    ],
    forgotten: () => [],
    stop: () => eci.stop(),
  };
}

function eciPod(name: string, kind: string, setting: PodSetting): Pod {
  const pod = podOf(name, kind, setting);
  const [main, init] = eciImages[kind] ?? ['web'];
  const { restartPolicy, containers, nodeName } = pod.spec!;
  return {
    ...pod,
    spec: {
      nodeName: nodeName!,
      tolerations: [{ operator: 'Exists' }],
      terminationGracePeriodSeconds: 5,
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      restartPolicy: restartPolicy!,
      containers: containers.map((container) => ({ name: container.name, image: main })),
      ...(init !== undefined && { initContainers: [{ name: 'first', image: init }] }),
    },
  };
}
