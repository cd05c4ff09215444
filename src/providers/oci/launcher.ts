import { execFile } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, statSync, writeFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { promisify } from 'node:util';
import { AgentError } from '../../base/errors.ts';
import { removeTree } from '../../base/files/remove-tree.ts';
import { endOf } from '../../processes/files.ts';
import { startFault } from '../../processes/launch-script.ts';
import { programPath } from '../../processes/host-programs.ts';
import { firstChild } from '../../processes/proc.ts';
import { wordFault } from '../../processes/program.ts';
import { containerIdVariable, type LaunchPlan } from '../../processes/supervisor-script.ts';
import type { ContainerConfig, Mount } from '../../provider/cri-messages.ts';
import type {
  ContainerRecord,
  Ending,
  ExecPlace,
  LaunchContainer,
  Launcher,
  PreparedLaunch,
  ResolvedImage,
} from '../process/index.ts';
import type { ContainerCgroups } from './container-cgroups.ts';
import { enterWords, rootWords, type Entry } from './enter-words.ts';
import { guestWords, safeEnvironment } from './guest-environment.ts';
import type { ImageRun } from './documents.ts';
import { imageUser } from './image-user.ts';
import { pathInRoot, programInRoot } from './in-root.ts';
import { plainCommand, plainEnvironment } from './plain.ts';
import { canBeUser, type Isolation, namespaceWords } from './isolation.ts';
import {
  copyInto,
  layOutRoot,
  makeDevices,
  makeFolders,
  type RootPlaces,
  writeResolvConf,
} from './root-layout.ts';
import { setupScript, type RootMount } from './setup-script.ts';
import { parseStopSignal } from './stop-signal.ts';
import type { ImageStore } from './store.ts';

/** Dependencies of OciLauncher. */
export interface OciLauncherDeps {
  readonly store: ImageStore;
  readonly isolation: Isolation;
  readonly cgroups: ContainerCgroups;
  readonly shell: string;
  /** User and group of the agent. */
  readonly uid: number;
  readonly gid: number;
}

const runFile = promisify(execFile);

/** OciLauncher runs containers in the root file system of their image, with the isolation that the machine allows. */
export class OciLauncher implements Launcher {
  readonly name = 'oci';
  readonly #deps: OciLauncherDeps;

  constructor(deps: OciLauncherDeps) {
    this.#deps = deps;
  }

  /** @throws {AgentError} `not_found` without the image; `invalid_argument` without a command or for an unknown user */
  resolve(config: ContainerConfig): ResolvedImage {
    const { store, isolation } = this.#deps;
    const reference = config.image?.image ?? '';
    const image = store.find(reference);
    if (!image)
      throw new AgentError('not_found', `image ${JSON.stringify(reference)} is not in the image store`);
    const { run: defaults } = store.config(image);
    const { home, ...user } = imageUser(
      store.rootfs(image.id),
      defaults.User ?? '',
      config.linux?.securityContext,
    );
    this.#demandUser(user.uid);
    const stopSignal = config.stopSignal ?? parseStopSignal(defaults.StopSignal ?? '');
    return {
      id: image.id,
      argv: commandOf(config, defaults, reference),
      env: [`PATH=${programPath}`, `HOME=${home}`, ...(defaults.Env ?? [])],
      workingDir: posix.resolve('/', defaults.WorkingDir ?? '', config.workingDir ?? ''),
      user,
      ...(stopSignal !== undefined && { stopSignal }),
      isolation: isolation.kind,
      isWatched: isWatching.has(isolation.kind),
    };
  }

  async prepare(container: LaunchContainer): Promise<PreparedLaunch> {
    const { isolation, cgroups, shell } = this.#deps;
    const image = imageOf(container.record);
    const root = join(container.dir, 'root');
    const places = await this.#makeRoot(container, image);
    const mounts = this.#layOut(container, places);
    makeWorkingDir(places, image, mounts);
    const env = environmentOf(container, image);
    demandProgram(places.lower, image, env);
    cgroups.create(container.record, container.dir);
    const prefix = [
      ...cgroups.words(container.dir, shell),
      ...(isolation.kind === 'namespaces' ? this.#namespaces(container, places, mounts) : []),
    ];
    const { workingDir, argv } = this.#place(container, { argv: image.argv, mounts, env });
    const { user } = image;
    const { stdin = false, tty = false } = container.record.config;
    const outer = this.#outerEnvironment(root, env);
    const plan: LaunchPlan = { argv, env: outer, workingDir, root, user, prefix, stdin, tty };
    return { plan };
  }

  exec(container: LaunchContainer, argv: readonly string[]): ExecPlace {
    const { isolation, cgroups, shell, uid, gid } = this.#deps;
    const image = imageOf(container.record);
    const env = environmentOf(container, image);
    const root = join(container.dir, 'root');
    const agent = { uid, gid, supplementalGroups: [] };
    const prefix = cgroups.words(container.dir, shell);
    const base = { env: this.#outerEnvironment(root, env), root, user: agent, prefix };
    const pid = image.isWatched && container.pid !== undefined ? firstChild(container.pid) : container.pid;
    if (pid === undefined)
      throw new AgentError('failed_precondition', `container ${container.record.id} is ending`);
    if (isolation.kind === 'namespaces' || isolation.kind === 'bubblewrap') {
      const inside = `/proc/${pid}/root`;
      demandExec(inside, { ...image, argv }, env);
      const words = guestWords(inside, env, argv);
      return {
        ...base,
        workingDir: root,
        argv: [...joinWords(isolation, pid), ...this.#joined(container, image, inside), ...words],
      };
    }
    demandExec(root, { ...image, argv }, env);
    const mounts = isolation.mounts ? this.#mountsOf(container) : [];
    return { ...base, ...this.#place(container, { argv, mounts, env }) };
  }

  words({ image, config }: ContainerRecord): Pick<LaunchPlan, 'argv' | 'workingDir'> {
    return { argv: image?.argv ?? [], workingDir: image?.workingDir ?? config.workingDir ?? '' };
  }

  ending({ dir, runDir }: Pick<LaunchContainer, 'dir' | 'runDir'>, exitCode: number): Partial<Ending> {
    return {
      ...(exitCode === 1 && wasKilled(runDir) && { exitCode: 137 }),
      ...(this.#deps.cgroups.wasOomKilled(dir) && { reason: 'OOMKilled' }),
    };
  }

  release(dir: string): Promise<void> {
    return this.#deps.cgroups.remove(dir);
  }

  /** @throws {AgentError} `failed_precondition` for a user that the isolation cannot give a container */
  #demandUser(uid: number): void {
    const { isolation } = this.#deps;
    if (canBeUser(isolation, uid)) return;
    throw new AgentError(
      'failed_precondition',
      isolation.rootless
        ? `user ${uid} needs root; the agent is ${this.#deps.uid}, whom its containers see as root`
        : `user ${uid}: isolation ${isolation.kind} has only the agent's own user, root`,
    );
  }

  /** Creates the directories of the container's root. @returns the places to write to */
  async #makeRoot({ dir }: LaunchContainer, image: ResolvedImage): Promise<RootPlaces> {
    const { isolation, store } = this.#deps;
    const lower = store.rootfs(image.id);
    if (!existsSync(lower))
      throw new AgentError('not_found', `the files of image ${image.id} are gone; pull it again`);
    const root = join(dir, 'root');
    await removeTree(root);
    mkdirSync(root, { mode: 0o755 });
    if (!isolation.overlay) {
      await runFile('cp', ['-a', '--reflink=auto', '--', `${lower}/.`, root]);
      return { lower, writable: root };
    }
    const model = statSync(lower);
    for (const name of ['upper', 'work']) {
      await removeTree(join(dir, name));
      mkdirSync(join(dir, name), { mode: model.mode & 0o7777 });
    }
    return { lower, writable: join(dir, 'upper') };
  }

  /** Creates mount points and the container's own files below `/etc`. */
  #layOut(container: LaunchContainer, places: RootPlaces): readonly RootMount[] {
    const { isolation } = this.#deps;
    const all = ownMounts(container);
    if (isolation.kind !== 'none') for (const name of ['proc', 'sys', 'dev']) makeFolders(places, [name]);
    if (isolation.kind === 'chroot') makeDevices(join(places.writable, 'dev'));
    if (isolation.mounts) return layOutRoot(places, all);
    for (const mount of all)
      copyInto(places, mount, (from, to) => {
        cpSync(from, to, { recursive: true, dereference: true });
      });
    return [];
  }

  #mountsOf(container: LaunchContainer): readonly RootMount[] {
    const root = join(container.dir, 'root');
    return ownMounts(container).map(({ containerPath = '', hostPath = '', readonly: readOnly = false }) => ({
      source: hostPath,
      target: pathInRoot(root, containerPath).slice(root.length + 1),
      readOnly,
    }));
  }

  /** Writes the script that puts the container's file system together. @returns the words that run it */
  #namespaces(
    { dir, sandbox, record: { config } }: LaunchContainer,
    { lower, writable }: RootPlaces,
    mounts: readonly RootMount[],
  ): readonly string[] {
    const { isolation, shell } = this.#deps;
    const { tools, overlay, rootless } = isolation;
    const context = config.linux?.securityContext ?? {};
    const script = setupScript({
      mount: tools.mount ?? 'mount',
      nameTool: tools.hostname,
      root: join(dir, 'root'),
      ...(overlay && { overlay: { lower, upper: writable, work: join(dir, 'work') } }),
      hostname: sandbox.hostname ?? '',
      rootless,
      mounts,
      maskedPaths: context.maskedPaths ?? defaultMasked,
      readonlyPaths: context.readonlyPaths ?? defaultReadonly,
      readonlyRootfs: context.readonlyRootfs ?? false,
      privileged: context.privileged ?? false,
    });
    writeFileSync(join(dir, 'setup.sh'), script, { mode: 0o600 });
    return [...namespaceWords(tools, rootless), shell, join(dir, 'setup.sh')];
  }

  /** Returns how a command enters the container from its root directory on the host. */
  #place(
    container: LaunchContainer,
    {
      argv,
      mounts,
      env,
    }: {
      readonly argv: readonly string[];
      readonly mounts: readonly RootMount[];
      readonly env: ReadonlyMap<string, string>;
    },
  ): Pick<ExecPlace, 'argv' | 'workingDir'> {
    const { isolation, store } = this.#deps;
    const image = imageOf(container.record);
    const root = join(container.dir, 'root');
    const entry = this.#entry(container, image, {
      root: isolation.kind === 'namespaces' ? '.' : root,
      mounts,
    });
    if (isolation.kind !== 'none') {
      const files = isolation.overlay ? store.rootfs(image.id) : root;
      return { workingDir: root, argv: [...enterWords(isolation, entry), ...guestWords(files, env, argv)] };
    }
    const plain = plainCommand(root, { argv, env, workingDir: image.workingDir });
    return { ...plain, argv: [...enterWords(isolation, entry), ...plain.argv] };
  }

  /** Returns the variables of the programs of the host that enter a container, or of a container without isolation. */
  #outerEnvironment(root: string, env: ReadonlyMap<string, string>): ReadonlyMap<string, string> {
    const safe = safeEnvironment(env);
    return this.#deps.isolation.kind === 'none' ? plainEnvironment(root, safe) : safe;
  }

  /** Returns the words that enter a running container's root, in whose namespaces the command is already. */
  #joined(container: LaunchContainer, image: ResolvedImage, root: string): readonly string[] {
    return rootWords(this.#deps.isolation, this.#entry(container, image, { root, mounts: [] }));
  }

  #entry(
    { record: { config }, sandbox }: LaunchContainer,
    image: ResolvedImage,
    where: Pick<Entry, 'root' | 'mounts'>,
  ): Entry {
    const hostname = sandbox.hostname ?? '';
    return {
      image,
      context: config.linux?.securityContext ?? {},
      hostname: hostname === '' ? 'localhost' : hostname,
      ...where,
    };
  }
}

/**
 * True when `unshare` says, as its last output, that it cannot end itself by the signal of its child. That signal is SIGKILL, the one whose
 * handling it cannot reset; it exits with 1 then (util-linux 2.41).
 */
const wasKilled = (runDir: string): boolean =>
  ['stderr', 'stdout'].some((name) =>
    /unshare: sigprocmask unblock failed: Invalid argument\r?\n$/.test(endOf(join(runDir, name), 100)),
  );

/** The kinds whose program watches over the container's. */
const isWatching: ReadonlySet<string> = new Set(['namespaces', 'bubblewrap', 'proot']);

/** Returns the command: the container's replaces the image's entrypoint and drops its cmd. */
function commandOf(
  { command = [], args = [] }: ContainerConfig,
  run: ImageRun,
  image: string,
): readonly string[] {
  const rest = args.length > 0 || command.length > 0 ? args : (run.Cmd ?? []);
  const argv = [...(command.length > 0 ? command : (run.Entrypoint ?? [])), ...rest];
  if (argv.length > 0) return argv;
  throw new AgentError(
    'invalid_argument',
    `no command specified: neither the container nor image ${image} has one`,
  );
}

const defaultMasked = [
  '/proc/asound',
  '/proc/interrupts',
  '/proc/acpi',
  '/proc/kcore',
  '/proc/keys',
  '/proc/latency_stats',
  '/proc/timer_list',
  '/proc/timer_stats',
  '/proc/sched_debug',
  '/proc/scsi',
  '/sys/devices/virtual/powercap',
  '/sys/firmware',
];
const defaultReadonly = ['/proc/bus', '/proc/fs', '/proc/irq', '/proc/sys', '/proc/sysrq-trigger'];

/** Returns the words that join a container's namespaces; the root directory is entered afterwards. */
function joinWords({ tools, rootless }: Isolation, pid: number): readonly string[] {
  const nsenter = tools.nsenter ?? 'nsenter';
  const user = rootless ? ['--user', '--preserve-credentials'] : [];
  return [nsenter, '--target', String(pid), ...user, '--uts', '--ipc', '--pid', '--'];
}

function imageOf({ id, image }: ContainerRecord): ResolvedImage {
  if (image) return image;
  throw new AgentError('failed_precondition', `container ${id} was created by the process provider`);
}

/** Returns the container's volumes and its own `/etc/resolv.conf`, unless a volume is there. */
function ownMounts({ record: { config }, dir, sandbox }: LaunchContainer): readonly Mount[] {
  const mounts = config.mounts ?? [];
  if (mounts.some(({ containerPath }) => containerPath === '/etc/resolv.conf')) return mounts;
  const path = join(dir, 'etc', 'resolv.conf');
  if (!existsSync(path)) writeResolvConf(path, sandbox.dnsConfig);
  return [...mounts, { containerPath: '/etc/resolv.conf', hostPath: path, readonly: false }];
}

function makeWorkingDir(
  places: RootPlaces,
  { workingDir }: ResolvedImage,
  mounts: readonly RootMount[],
): void {
  const path = pathInRoot(places.lower, workingDir);
  const below = path.slice(places.lower.length + 1);
  if (below === '' || mounts.some(({ target }) => below === target || below.startsWith(`${target}/`))) return;
  const stat = statSync(path, { throwIfNoEntry: false });
  if (stat?.isDirectory() === true) return;
  if (stat)
    throw new Error(startFault(`chdir to cwd (${JSON.stringify(workingDir)}) failed: not a directory`));
  makeFolders(places, below.split('/'));
}

/** Returns the environment: the image's, overridden by the container's; the mark of its processes last. */
function environmentOf(
  { record: { id, config }, sandbox }: LaunchContainer,
  image: ResolvedImage,
): ReadonlyMap<string, string> {
  const env = new Map<string, string>([['HOSTNAME', sandbox.hostname ?? '']]);
  if (config.tty) env.set('TERM', 'xterm');
  for (const word of image.env) {
    const at = word.indexOf('=');
    if (at > 0) env.set(word.slice(0, at), word.slice(at + 1));
  }
  for (const { key = '', value = new Uint8Array() } of config.envs ?? [])
    env.set(key, Buffer.from(value).toString());
  env.set(containerIdVariable, id);
  return env;
}

function faultIn(
  root: string,
  { argv, workingDir }: Pick<ResolvedImage, 'argv' | 'workingDir'>,
  env: ReadonlyMap<string, string>,
): string | undefined {
  const odd = wordFault({ argv, env });
  if (odd !== undefined) return odd;
  return programInRoot(root, argv[0] ?? '', { path: env.get('PATH') ?? '', workingDir }).fault;
}

function demandProgram(root: string, image: ResolvedImage, env: ReadonlyMap<string, string>): void {
  const fault = faultIn(root, image, env);
  if (fault !== undefined) throw new AgentError('internal', startFault(fault));
}

function demandExec(
  root: string,
  image: Pick<ResolvedImage, 'argv' | 'workingDir'>,
  env: ReadonlyMap<string, string>,
): void {
  const fault = faultIn(root, image, env);
  if (fault === undefined) return;
  throw new AgentError(
    'internal',
    `failed to exec in container: OCI runtime exec failed: exec failed: ${startFault(fault)}`,
  );
}
