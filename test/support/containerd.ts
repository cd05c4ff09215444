import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import {
  chmodSync,
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { systemClock } from '../../src/base/clock.ts';
import { systemdSlice } from '../../src/kube/cgroup.ts';
import { connectCri, type CriRuntime } from '../../src/providers/cri/index.ts';
import { busyboxImage, busyboxPath, layoutOf, pauseImage, type TestImage } from './images.ts';
import { removeFolder } from './mounts.ts';

const cniPlugins = '/usr/lib/cni';

/** The cgroup driver, from the environment's `CGROUP_DRIVER`. */
export const cgroupDriver = process.env['CGROUP_DRIVER'] === 'systemd' ? 'systemd' : 'cgroupfs';

/** A separate containerd with its own directories, socket and network, all removed by `stop`. */
export interface Containerd {
  readonly socket: string;
  /** The directory of all its files. */
  readonly dir: string;
  /** Of its process; 0 when it does not run. */
  readonly pid: number;
  /** Kills it with SIGKILL; containers keep running. */
  kill(): Promise<void>;
  /** Starts it again and waits until it responds. */
  start(): Promise<void>;
  /** Removes all pods, then the runtime and what it left on the machine. */
  stop(): Promise<void>;
  /** The pod name of each running container. */
  containers(): string[];
  /** Imports more images. */
  load(images: readonly TestImage[]): void;
}

export interface ContainerdOptions {
  /** Folder with `containerd`, its shims and `ctr`; default: the machine's own. */
  readonly binaries?: string;
  /** Default: `localhost/busybox:1`. The sandbox's image `localhost/pause:1` is always there. */
  readonly images?: readonly TestImage[];
}

/** Why containers cannot be run here; `undefined` when they can. */
export function whyNoContainerd(): string | undefined {
  if (process.getuid?.() !== 0) return 'not root';
  for (const program of ['containerd', 'ctr', 'runc', 'ip'])
    if (!onPath(program)) return `${program} is not installed`;
  if (!existsSync(busyboxPath)) return 'busybox-static is not installed';
  return existsSync(join(cniPlugins, 'bridge')) ? undefined : `no CNI plugins in ${cniPlugins}`;
}

const onPath = (program: string): boolean =>
  `${process.env['PATH'] ?? ''}:/usr/sbin:/sbin`.split(':').some((dir) => existsSync(join(dir, program)));

/** Returns whether the tests of a file are skipped, and prints why. */
export function skipWithoutContainerd(): boolean {
  const why = whyNoContainerd();
  if (why !== undefined) console.log(`skipped: ${why}; these tests run real containers`);
  return why !== undefined;
}

/** Starts a separate containerd and waits until it responds. */
export async function startContainerd(options: ContainerdOptions = {}): Promise<Containerd> {
  const bed = new TestBed(options);
  try {
    await bed.start();
    bed.load([pauseImage('localhost/pause:1'), ...(options.images ?? [busyboxImage('localhost/busybox:1')])]);
    return bed;
  } catch (reason) {
    await bed.stop();
    throw reason;
  }
}

class TestBed implements Containerd {
  readonly dir = mkdtempSync(join(tmpdir(), 'ptc-'));
  readonly socket = join(this.dir, 'containerd.sock');
  readonly #bridge = `pt${this.dir.slice(-6).toLowerCase()}`;
  readonly #env: NodeJS.ProcessEnv;
  #process: ChildProcess | undefined;

  constructor({ binaries }: ContainerdOptions) {
    const path = `${binaries === undefined ? '' : `${binaries}:`}${process.env['PATH'] ?? ''}:/usr/sbin:/sbin`;
    this.#env = { PATH: path };
    chmodSync(this.dir, 0o711); // pods' own users get through to their root folders
    mkdirSync(join(this.dir, 'cni'));
    writeFileSync(join(this.dir, 'cni/10-bridge.conflist'), JSON.stringify(network(this.#bridge, this.dir)));
    writeFileSync(join(this.dir, 'config.toml'), configuration(this.dir, this.socket));
  }

  async start(): Promise<void> {
    const log = openSync(join(this.dir, 'containerd.log'), 'a');
    this.#process = spawn('containerd', ['-c', join(this.dir, 'config.toml')], {
      stdio: ['ignore', log, log],
      env: this.#env,
    });
    closeSync(log);
    this.#process.on('error', () => undefined);
    await this.#whenReady();
  }

  get pid(): number {
    return this.#process?.pid ?? 0;
  }

  load(images: readonly TestImage[]): void {
    const archive = join(this.dir, 'images.tar');
    writeFileSync(archive, layoutOf(images));
    const args = ['-a', this.socket, '-n', 'k8s.io', 'images', 'import', archive];
    execFileSync('ctr', args, { stdio: ['ignore', 'ignore', 'pipe'], env: this.#env });
    rmSync(archive);
  }

  containers(): string[] {
    const ctr = (...args: readonly string[]): string =>
      execFileSync('ctr', ['-a', this.socket, '-n', 'k8s.io', ...args], { encoding: 'utf8', env: this.#env });
    const running = ctr('tasks', 'list')
      .split('\n')
      .flatMap((line) => (line.includes('RUNNING') ? [line.split(/\s+/)[0] ?? ''] : []));
    return running.flatMap((id) => {
      const { Labels: labels } = JSON.parse(ctr('containers', 'info', id)) as {
        Labels: Readonly<Record<string, string>>;
      };
      return labels['io.cri-containerd.kind'] === 'container' ? [labels['io.kubernetes.pod.name'] ?? ''] : [];
    });
  }

  async kill(): Promise<void> {
    const dying = this.#process;
    this.#process = undefined;
    if (dying?.exitCode !== null) return;
    const ended = new Promise((resolve) => dying.once('exit', resolve));
    dying.kill('SIGKILL');
    await ended;
  }

  async stop(): Promise<void> {
    if (!this.#process) await this.start().catch(() => undefined);
    const runtime = connectCri(this.socket, { clock: systemClock });
    await removeAllPods(runtime).catch(() => undefined);
    await runtime.close();
    await this.kill();
    for (const { pid } of shimsOf(this.socket)) process.kill(pid, 'SIGKILL');
    run('ip', ['link', 'delete', this.#bridge]);
    removeFolder(this.dir);
    removeEmptyCgroups('k8s.io');
  }

  async #whenReady(): Promise<void> {
    const runtime = connectCri(this.socket, { clock: systemClock });
    const signal = AbortSignal.timeout(20_000);
    try {
      while (!(await isReady(runtime))) await delay(50, undefined, { signal });
    } catch {
      const log = readFileSync(join(this.dir, 'containerd.log'), 'utf8').slice(-2000);
      throw new Error(`containerd does not answer: ${log}`);
    } finally {
      await runtime.close();
    }
  }
}

/** A shim of a containerd: the process between it and a sandbox's containers. */
export interface Shim {
  readonly pid: number;
  readonly sandbox: string;
  /** Whether it has a container's process below it. */
  readonly isBusy: boolean;
}

/** The shims of the containerd behind this socket. */
export function shimsOf(socket: string): readonly Shim[] {
  const found = readdirSync('/proc')
    .filter((entry) => /^\d+$/.test(entry))
    .map((entry) => ({ pid: Number(entry), words: textOf(`/proc/${entry}/cmdline`).split('\0') }))
    .filter(({ words }) => words[0]?.includes('containerd-shim') && words.includes(socket));
  return found.map(({ pid, words }) => ({
    pid,
    sandbox: words[words.indexOf('-id') + 1] ?? '',
    isBusy: hasChildren(pid),
  }));
}

/** A child is its thread's that made it. */
function hasChildren(pid: number): boolean {
  try {
    return readdirSync(`/proc/${pid}/task`).some(
      (thread) => textOf(`/proc/${pid}/task/${thread}/children`).trim() !== '',
    );
  } catch {
    return false; // it has just ended
  }
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

async function isReady(runtime: CriRuntime): Promise<boolean> {
  try {
    const { status } = await runtime.status({}, { timeoutMs: 2000 });
    return status?.conditions?.every((condition) => condition.status === true) ?? false;
  } catch {
    return false;
  }
}

async function removeAllPods(runtime: CriRuntime): Promise<void> {
  const { items = [] } = await runtime.listPodSandbox({});
  await Promise.allSettled(
    items.map(async ({ id = '' }) => {
      await runtime.stopPodSandbox({ podSandboxId: id });
      await runtime.removePodSandbox({ podSandboxId: id });
    }),
  );
}

/** What a program does when it fails does not matter: the thing that it removes may be gone already. */
function run(program: string, args: readonly string[]): void {
  try {
    execFileSync(program, args, { stdio: 'ignore' });
  } catch {
    // gone already
  }
}

/** Removes the cgroup `name` of every controller, where no process is in it or below; with systemd, its slice. */
export function removeEmptyCgroups(name: string): void {
  if (cgroupDriver === 'systemd') run('systemctl', ['stop', systemdSlice([name])]);
  for (const controller of readdirSync('/sys/fs/cgroup'))
    removeEmptyTree(join('/sys/fs/cgroup', controller, name));
}

function removeEmptyTree(dir: string): void {
  try {
    for (const entry of readdirSync(dir))
      if (statSync(join(dir, entry)).isDirectory()) removeEmptyTree(join(dir, entry));
    rmdirSync(dir);
  } catch {
    // in use, or never there
  }
}

/** A bridge with addresses of its own; two beds at one time get different ones with good luck. */
function network(bridge: string, dir: string): object {
  const seed = Buffer.from(dir).reduce((sum, byte) => (sum * 31 + byte) % 16_384, 7);
  const subnet = `10.${64 + (seed >> 8)}.${seed & 255}.0/24`;
  const ipam = {
    type: 'host-local',
    dataDir: join(dir, 'ipam'),
    ranges: [[{ subnet }]],
    routes: [{ dst: '0.0.0.0/0' }],
  };
  return {
    cniVersion: '0.4.0',
    name: bridge,
    plugins: [
      { type: 'bridge', bridge, isGateway: true, ipMasq: false, hairpinMode: true, ipam },
      { type: 'portmap', capabilities: { portMappings: true } },
    ],
  };
}

const configuration = (dir: string, socket: string): string => `version = 2
root = "${dir}/root"
state = "${dir}/state"
disabled_plugins = ["io.containerd.snapshotter.v1.aufs", "io.containerd.snapshotter.v1.btrfs", "io.containerd.snapshotter.v1.devmapper", "io.containerd.snapshotter.v1.zfs", "io.containerd.internal.v1.opt"]
[grpc]
address = "${socket}"
[plugins."io.containerd.grpc.v1.cri"]
sandbox_image = "localhost/pause:1"
restrict_oom_score_adj = true
[plugins."io.containerd.grpc.v1.cri".cni]
bin_dir = "${cniPlugins}"
conf_dir = "${dir}/cni"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
SystemdCgroup = ${cgroupDriver === 'systemd'}
`;
