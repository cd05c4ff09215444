import { existsSync, lstatSync, mkdirSync, readdirSync, rmdirSync } from 'node:fs';
import { realpath, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { type Clock, steadyNow } from '../../base/clock.ts';
import { AgentError, messageOf } from '../../base/errors.ts';
import type { Logger } from '../../base/logger.ts';
import { removeTree } from '../../base/files/remove-tree.ts';
import type { EventRecorder } from '../../kube/events.ts';
import { keyOf, nameOf, namespaceOf, uidOf } from '../../kube/names.ts';
import { claimNameOf, usedVolumes } from '../../kube/references.ts';
import type { ResourceList } from '../../kube/resources/resources.ts';
import { goQuote } from '../../go/go-quote.ts';
import type { Container, Pod, Volume } from '../../kube/types.ts';
import type { Device } from '../../provider/cri-messages.ts';
import { AtomicWriter, type Payload } from './atomic-writer.ts';
import { ClaimedVolumes, type FindClaimed } from './claimed.ts';
import type { MountedVolume } from './container-mounts.ts';
import { EmptyDirs } from './empty-dir.ts';
import { checkHostPath } from './host-path.ts';
import { Looks } from './looks.ts';
import { layout, localVolumePlugin, nfsPlugin, volumePlugins } from '../paths/layout.ts';
import { MountRecord } from './mount-record.ts';
import { type Mounter, pointsBelow } from './mounter.ts';
import { mountNfs, nfsVolumeOf } from './nfs.ts';
import { fsGroupOf, giveToGroup, groupOf, OwnershipProgress, setGroupOwnership } from './ownership.ts';
import { readWithin } from './sub-path.ts';

/** Time limit for setting up a pod's volumes, ms; then the sync fails and the next one retries (kubelet `podAttachAndMountTimeout`). */
const mountTimeoutMs = 123_000;

export interface PodVolumesDeps {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly recorder: EventRecorder;
  readonly mounter: Mounter;
  /** The agent's root directory (`--root-dir`). */
  readonly rootDir: string;
  /** Returns the files of a configMap, secret, downwardAPI or projected volume; `undefined` for other kinds. */
  readonly payloadOf: (pod: Pod, volume: Volume) => Promise<Payload> | undefined;
  /** Write secrets, tokens and fields to tmpfs only; needs permission to mount. */
  readonly secretsInMemory?: boolean;
  /** Resolves a persistent volume claim. */
  readonly claimedVolume: FindClaimed;
  /** Returns the node's allocatable amounts. */
  readonly nodeAllocatable: () => ResourceList;
}

/**
 * PodVolumes sets up pods' volumes: directories under the root directory, host paths, tmpfs. Payloads are rewritten
 * in each sync when they have changed, so that running containers see new config maps, secrets and tokens.
 *
 * Follows kubelet `volumemanager` for the volumes that need no attaching.
 */
export class PodVolumes {
  readonly #deps: PodVolumesDeps;
  #lastSweep = { pods: 0, failed: 0 };
  readonly #claims: ClaimedVolumes;
  readonly #looks: Looks;
  readonly #emptyDirs: EmptyDirs;
  readonly #record = new MountRecord();

  constructor(deps: PodVolumesDeps) {
    this.#deps = deps;
    this.#claims = new ClaimedVolumes(deps.claimedVolume);
    this.#looks = new Looks(deps.clock);
    this.#emptyDirs = new EmptyDirs(deps);
  }

  /**
   * Sets up every volume that a container of the pod mounts; failures are logged and retried. A volume that is set up does not block the
   * sync when it cannot be updated. Follows kubelet `WaitForAttachAndMount`.
   *
   * @throws {AgentError} `deadline_exceeded` after 2 min 3 s; `failed_precondition` at once for claims that cannot be used; the signal's
   *   reason when it aborts first
   */
  async mount(pod: Pod, signal: AbortSignal): Promise<void> {
    const volumes = usedVolumes(pod);
    if (volumes.length === 0) return;
    mkdirSync(layout.volumesDir(this.#deps.rootDir, uidOf(pod)), { recursive: true, mode: 0o750 });
    const deadlineAt = this.#now() + mountTimeoutMs;
    const faults = await this.#claims.resolve(pod, volumes);
    let missing: readonly Volume[] = volumes.filter((volume) => !faults.has(volume));
    if (faults.size > 0) throw notProcessed(await this.#mountEach(pod, missing, signal), faults);
    for (;;) {
      missing = await this.#mountEach(pod, missing, signal);
      if (missing.length === 0) return;
      const now = this.#now();
      if (now >= deadlineAt) throw notMounted(missing);
      const nextAt = Math.min(deadlineAt, ...missing.map((volume) => this.#record.dueAt(pod, volume)));
      await this.#deps.clock.sleep(nextAt - now, signal);
    }
  }

  #now(): number {
    return steadyNow(this.#deps.clock);
  }

  /** Mounts the volumes that are due. @returns those that are not set up */
  async #mountEach(pod: Pod, volumes: readonly Volume[], signal: AbortSignal): Promise<readonly Volume[]> {
    for (const volume of volumes) {
      const isDone = this.#record.stands(pod, volume) && !isWrittenAnew(volume);
      if (isDone || this.#record.dueAt(pod, volume) > this.#now()) continue;
      try {
        await this.#mountOne(pod, volume, signal);
        this.#record.mounted(pod, volume);
      } catch (reason) {
        this.#record.failed(pod, volume, this.#now());
        const err = messageOf(reason);
        const message = `MountVolume.SetUp failed for volume "${volume.name}" : ${err}`;
        this.#deps.logger.warn('volume could not be mounted', { pod: keyOf(pod), volume: volume.name, err });
        this.#deps.recorder.event(pod, 'Warning', 'FailedMount', message);
      }
    }
    return volumes.filter((volume) => !this.#record.stands(pod, volume));
  }

  async #mountOne(pod: Pod, volume: Volume, signal: AbortSignal): Promise<void> {
    if (volume.hostPath) {
      await this.#checkHostPath(volume.hostPath, signal);
      return;
    }
    if (volume.emptyDir) {
      await this.#emptyDirs.mount(pod, this.#dirOf(pod, volume), volume.emptyDir);
      return;
    }
    if (volume.image) return; // the runtime mounts it
    const claimName = claimNameOf(nameOf(pod), volume);
    if (claimName !== undefined) {
      const claim = `claim "${namespaceOf(pod)}/${claimName}"`;
      await this.#looks.at(claim, () => this.#claims.check(pod, volume), signal);
      await this.#ownLocal(pod, volume);
    }
    const nfs = nfsVolumeOf(volume, this.#claims.of(pod, volume));
    if (nfs) await mountNfs(this.#deps.mounter, this.#nfsDir(pod, nfs.name), nfs);
    if (nfs || claimName !== undefined) return;
    const payload = this.#deps.payloadOf(pod, volume);
    if (!payload)
      throw new AgentError('unimplemented', `volumes of this kind are not supported on this node`);
    await this.#write(pod, volume, await payload);
  }

  async #checkHostPath({ path, type = '' }: HostPath, signal: AbortSignal): Promise<void> {
    if (type !== '') await this.#looks.at(`${type} "${path}"`, () => checkHostPath(path, type), signal);
  }

  /** Checks that a path of a volume responds before it is used. */
  async answers(path: string): Promise<void> {
    await this.#looks.at(`"${path}"`, async () => {
      await stat(path).catch(() => undefined);
    });
  }

  /**
   * Returns the text of a file that the pod wrote to one of its volumes; `undefined` when it does not exist.
   *
   * @throws {AgentError} `not_found` for an unknown volume; `deadline_exceeded` when it does not respond; as {@link readWithin}
   */
  async readFile(pod: Pod, volume: string, path: string): Promise<string | undefined> {
    const source = pod.spec?.volumes?.find(({ name }) => name === volume);
    const dir = source && this.pathOf(pod, source);
    if (dir === undefined)
      throw new AgentError('not_found', `cannot find the volume "${volume}" referenced by FileKeyRef`);
    return this.#looks.at(`file "${join(dir, path)}"`, () => readWithin(dir, path));
  }

  /** Writes the files; the group gets access to the whole volume before it becomes visible. */
  async #write(pod: Pod, volume: Volume, payload: Payload): Promise<void> {
    const dir = this.#dirOf(pod, volume);
    const medium = this.#deps.secretsInMemory && inMemory(volume) && !holdsFiles(dir) ? 'Memory' : '';
    await this.#emptyDirs.mount(pod, dir, { medium });
    const group = fsGroupOf(pod);
    new AtomicWriter(dir).write(payload, this.#deps.clock.now(), () => {
      if (group !== undefined) setGroupOwnership(dir, group, 'read');
    });
  }

  /**
   * Gives a local volume to the pod's group, once, for the first pod that uses it. A bind mount in the pod's directory marks the volume as
   * done, across restarts of the agent. Follows kubelet `localVolumeMounter.SetUpAt`.
   */
  async #ownLocal(pod: Pod, volume: Volume): Promise<void> {
    const { name, local } = this.#claims.of(pod, volume) ?? {};
    const group = fsGroupOf(pod);
    if (!local || name === undefined || group === undefined || this.#isBlock(pod, volume)) return;
    const { mounter, rootDir } = this.#deps;
    const dir = layout.volumeDir(rootDir, uidOf(pod), localVolumePlugin, name);
    if (mounter.isMountPoint(dir)) return;
    await this.#giveLocal(pod, volume, { name, path: await realpath(local.path), group });
    mkdirSync(dir, { recursive: true, mode: 0o750 });
    await mounter.bindMount(local.path, dir);
  }

  async #giveLocal(
    pod: Pod,
    volume: Volume,
    { name, path, group }: { readonly name: string; readonly path: string; readonly group: number },
  ): Promise<void> {
    const { mounter, rootDir, recorder } = this.#deps;
    const isShared = mounter
      .mountsUnder(layout.podsDir(rootDir))
      .some((point) => point.endsWith(`/${localVolumePlugin}/${name}`));
    if (isShared) {
      const present = groupOf(path);
      const message = `The requested fsGroup is ${group}, but the volume ${name} has GID ${present}. The volume may not be shareable.`;
      if (present !== group) recorder.event(pod, 'Warning', 'AlreadyMountedVolume', message);
    } else if (volume.persistentVolumeClaim?.readOnly !== true) {
      const whenRootDiffers = pod.spec?.securityContext?.fsGroupChangePolicy === 'OnRootMismatch';
      const where = `${uidOf(pod)}/volumes/${localVolumePlugin}/${name}`;
      const progress = new OwnershipProgress(this.#deps.clock, where, (message) => {
        recorder.event(pod, 'Warning', 'VolumePermissionChangeInProgress', message);
      });
      try {
        await giveToGroup(path, group, { whenRootDiffers, onEach: progress.count });
      } finally {
        progress.end();
      }
    }
  }

  /** Returns the groups that the pod's persistent volumes require, without those in its spec. Follows kubelet `getExtraSupplementalGid`. */
  extraGroups(pod: Pod): readonly number[] {
    const own = pod.spec?.securityContext?.supplementalGroups ?? [];
    const gids = (pod.spec?.volumes ?? []).flatMap((volume) => {
      const gid = this.#claims.of(pod, volume)?.gid ?? '';
      return /^\d+$/.test(gid) ? [Number(gid)] : [];
    });
    return [...new Set(gids)].filter((gid) => !own.includes(gid));
  }

  /** Returns the host path of a volume; `undefined` when the runtime provides it. */
  pathOf(pod: Pod, volume: Volume): string | undefined {
    if (volume.hostPath) return volume.hostPath.path;
    const nfs = nfsVolumeOf(volume, this.#claims.of(pod, volume));
    if (nfs) return this.#nfsDir(pod, nfs.name);
    if (claimNameOf(nameOf(pod), volume) !== undefined) return this.#claims.pathOf(pod, volume);
    return pluginOf(volume) === undefined ? undefined : this.#dirOf(pod, volume);
  }

  /**
   * Returns the path of a volume that is a file system of its own, on a file server or a local disk behind a claim: the usage of the file
   * system is the volume's, without walking it. `undefined` when the volume is part of the node's file system.
   */
  fileSystemOf(pod: Pod, volume: Volume): string | undefined {
    const claimed = this.#claims.of(pod, volume);
    const nfs = nfsVolumeOf(volume, claimed);
    if (nfs) return this.#nfsDir(pod, nfs.name);
    return this.#isBlock(pod, volume) ? undefined : claimed?.local?.path;
  }

  /** Returns the pod's volumes by name with host path and access; volumes that the runtime provides are left out. */
  mounted(pod: Pod): ReadonlyMap<string, MountedVolume> {
    return new Map(
      (pod.spec?.volumes ?? []).flatMap((volume): [string, MountedVolume][] => {
        const path = volume.image ? '' : this.pathOf(pod, volume);
        if (path === undefined || this.#isBlock(pod, volume)) return [];
        return [[volume.name, { path, ...(isReadOnly(volume) && { readOnly: true }) }]];
      }),
    );
  }

  /**
   * Returns the block devices of a container. Follows kubelet `makeBlockVolumes`.
   *
   * @throws {AgentError} `invalid_argument` when a volume is not a block device
   */
  devices(pod: Pod, { name: container, volumeDevices = [] }: Container): readonly Device[] {
    return volumeDevices.map(({ name, devicePath }) => {
      const volume = pod.spec?.volumes?.find((one) => one.name === name);
      const hostPath = volume && this.#isBlock(pod, volume) ? this.pathOf(pod, volume) : undefined;
      if (hostPath === undefined)
        throw new AgentError(
          'invalid_argument',
          `cannot find volume ${goQuote(name)} to pass into container ${goQuote(container)}`,
        );
      const permissions = volume && isReadOnly(volume) ? 'r' : 'mrw';
      return { hostPath, containerPath: devicePath, permissions };
    });
  }

  #isBlock(pod: Pod, volume: Volume): boolean {
    return this.#claims.of(pod, volume)?.volumeMode === 'Block';
  }

  #nfsDir(pod: Pod, name: string): string {
    return layout.volumeDir(this.#deps.rootDir, uidOf(pod), nfsPlugin, name);
  }

  #dirOf(pod: Pod, volume: Volume): string {
    return layout.volumeDir(this.#deps.rootDir, uidOf(pod), pluginOf(volume) ?? '', volume.name);
  }

  /** Removes what {@link mount} created. Never follows a link and never deletes through a mount. */
  async unmount(pod: Pod): Promise<void> {
    this.#record.forget(pod);
    await this.#remove(layout.subPaths(this.#deps.rootDir, uidOf(pod)));
    await this.#remove(layout.volumesDir(this.#deps.rootDir, uidOf(pod)));
    this.#claims.forget(pod);
    for (const volume of pod.spec?.volumes ?? []) this.#emptyDirs.forget(this.#dirOf(pod, volume));
  }

  /** True while a volume of the pod exists, mounted or not, or when that cannot be determined. Follows kubelet `podVolumesExist`. */
  hasVolumes(uid: string): boolean {
    const { rootDir, mounter } = this.#deps;
    const dir = layout.volumesDir(rootDir, uid);
    try {
      return (
        entriesOf(dir).some((plugin) => entriesOf(join(dir, plugin)).length > 0) ||
        mounter.mountsUnder(layout.podDir(rootDir, uid)).length > 0
      );
    } catch (reason) {
      this.#deps.logger.error('the volumes of a pod directory cannot be inspected', {
        uid,
        err: messageOf(reason),
      });
      return true;
    }
  }

  /** Result of the last {@link removeOrphans}: number of pods with orphaned directories, and how many could not be removed. */
  get lastSweep(): { readonly pods: number; readonly failed: number } {
    return this.#lastSweep;
  }

  /**
   * Removes the directories of pods that are neither desired nor running, unless something is still mounted in them (R73). A failure does
   * not affect the others.
   *
   * @throws {AgentError} `failed_precondition` with all failures, after every pod was tried
   */
  async removeOrphans(keep: (uid: string) => boolean): Promise<void> {
    this.#lastSweep = { pods: 0, failed: 0 };
    const podsDir = layout.podsDir(this.#deps.rootDir);
    if (!existsSync(podsDir)) return;
    const orphans = readdirSync(podsDir).filter((uid) => !keep(uid));
    if (orphans.length === 0) return;
    const mounts = this.#deps.mounter.mountsUnder(podsDir); // read once, as it is slow on a node with many pods
    const faults: string[] = [];
    for (const uid of orphans) {
      const dir = join(podsDir, uid);
      try {
        await this.#remove(dir, pointsBelow(dir, mounts));
      } catch (reason) {
        faults.push(messageOf(reason));
      }
      this.#lastSweep = { pods: orphans.length, failed: faults.length };
      await nextTurn(); // yield, as there may be many directories
    }
    if (faults.length > 0) throw new AgentError('failed_precondition', faults.join('; '));
  }

  /** Removes a pod's directory. @param mountPoints mount points below it; absent: read now */
  async #remove(dir: string, mountPoints?: readonly string[]): Promise<void> {
    if (isGone(dir)) return;
    const { mounter } = this.#deps;
    const mounts = mountPoints ?? mounter.mountsUnder(dir);
    for (const point of [...mounts].reverse()) await mounter.unmount(point);
    const left = mounts.length > 0 ? mounter.mountsUnder(dir) : [];
    if (left.length > 0) throw new AgentError('failed_precondition', `still mounted: ${left.join(', ')}`);
    await removeTree(dir);
  }
}

type HostPath = NonNullable<Volume['hostPath']>;

/** Returns the entries of a directory; empty when it does not exist. */
function entriesOf(dir: string): readonly string[] {
  try {
    return readdirSync(dir);
  } catch (reason) {
    if ((reason as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw reason;
  }
}

/** Removes an empty directory without reading the mounts. @returns true when it no longer exists */
function isGone(dir: string): boolean {
  if (!lstatSync(dir, { throwIfNoEntry: false })) return true; // the usual case; lstat is ten times cheaper than a failing rmdir
  try {
    rmdirSync(dir);
    return true;
  } catch (reason) {
    return (reason as NodeJS.ErrnoException).code === 'ENOENT';
  }
}

/** True for volumes that are always read-only. Follows `GetAttributes` of the kubelet's plug-ins. */
const isReadOnly = ({
  image,
  configMap,
  secret,
  downwardAPI,
  projected,
  nfs,
  persistentVolumeClaim,
}: Volume): boolean =>
  (image ?? configMap ?? secret ?? downwardAPI ?? projected) !== undefined ||
  (nfs ?? persistentVolumeClaim)?.readOnly === true;

/** True for volumes that must not be stored on disk, and those that the kubelet treats alike. Follows its plug-ins' `wrappedVolumeSpec`. */
const inMemory = ({ secret, downwardAPI, projected }: Volume): boolean =>
  (secret ?? downwardAPI ?? projected) !== undefined;

/** True for volumes that are updated while the pod runs. Follows `RequiresRemount` of the kubelet's plug-ins. */
const isWrittenAnew = ({ configMap, secret, downwardAPI, projected }: Volume): boolean =>
  (configMap ?? secret ?? downwardAPI ?? projected) !== undefined;

/** True when a payload was written; mounting over it would hide it from running containers. */
const holdsFiles = (dir: string): boolean => existsSync(join(dir, '..data'));

function pluginOf(volume: Volume): string | undefined {
  const kind = (Object.keys(volumePlugins) as (keyof typeof volumePlugins)[]).find(
    (name) => volume[name] !== undefined,
  );
  return kind && volumePlugins[kind];
}

function notMounted(volumes: readonly Volume[]): AgentError {
  const names = volumes.map(({ name }) => name).join(' ');
  return new AgentError(
    'deadline_exceeded',
    `unmounted volumes=[${names}], unattached volumes=[], failed to process volumes=[]: context deadline exceeded`,
  );
}

/** @param failed volumes that could not be mounted, besides those whose claim could not be resolved */
function notProcessed(failed: readonly Volume[], faults: ReadonlyMap<Volume, string>): AgentError {
  const names = (volumes: Iterable<Volume>): string =>
    [...volumes]
      .map(({ name }) => name)
      .sort()
      .join(' ');
  const unmounted = names([...failed, ...faults.keys()]);
  return new AgentError(
    'failed_precondition',
    `Unable to attach or mount volumes: unmounted volumes=[${unmounted}], unattached volumes=[], failed to process volumes=[${names(faults.keys())}]: ${[...faults.values()].join('; ')}`,
  );
}
