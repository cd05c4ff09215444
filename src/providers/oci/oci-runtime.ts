import { join } from 'node:path';
import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../base/logger.ts';
import type { Random } from '../../base/random.ts';
import { kernelCgroupFiles } from '../../containers/cm/files.ts';
import { readIfThere } from '../../processes/files.ts';
import { type ProcessPowers, processPowers, ProcessRuntime } from '../process/index.ts';
import { admitOciPod } from './admission.ts';
import { ContainerCgroups } from './container-cgroups.ts';
import { type Delegation, findDelegation, type LimitController } from './delegation.ts';
import { OciImageService, type PullImage } from './image-service.ts';
import { detectIsolation, type Isolation, type IsolationKind } from './isolation.ts';
import { OciLauncher } from './launcher.ts';
import { ImageStore } from './store.ts';
import type { UnpackLimits } from './unpack.ts';

/** Settings of the OCI provider. */
export interface OciSettings {
  /** The provider's directory for images and containers, an absolute path. Nothing else may write there. */
  readonly dataDir: string;
  /** Address of pods, as they share the host's network. */
  readonly hostIp: string;
  /** The isolation to use; `auto`, the default, is the best that the machine allows, and never `none`. */
  readonly isolation?: IsolationKind | 'auto';
  readonly limits?: UnpackLimits;
  /** Maximum number of processes and threads of a pod, enforced where the controller `pids` is delegated; not positive: no limit. */
  readonly podPidsLimit?: number;
}

/** Dependencies of the OCI runtime. */
export interface OciRuntimeDeps {
  readonly settings: OciSettings;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** Makes what pulls images into the store. */
  readonly pull: (store: ImageStore) => PullImage;
}

/** A runtime for the root file systems of images. */
export interface OciRuntime {
  readonly runtime: ProcessRuntime;
  readonly store: ImageStore;
  readonly isolation: Isolation;
  /** The controllers that limit containers. */
  readonly controllers: readonly LimitController[];
  readonly powers: ProcessPowers;
}

const shell = '/bin/sh';

/**
 * Opens the OCI runtime: the process runtime with images, whose containers run in the root file system of their image.
 *
 * @throws {AgentError} `failed_precondition` when the machine has no isolation of the wanted kind, or lacks a program
 */
export async function openOciRuntime({ settings, pull, ...deps }: OciRuntimeDeps): Promise<OciRuntime> {
  const { dataDir, hostIp, isolation: kind = 'auto', limits } = settings;
  const [uid, gid] = [process.getuid?.() ?? 0, process.getgid?.() ?? 0];
  const isolation = await detectIsolation({ kind, dir: join(dataDir, 'probe'), uid, shell });
  const store = openStore(settings, { ...deps, uid }, limits);
  const delegation = delegatedHere();
  const cgroups = new ContainerCgroups({ ...deps, ...settings, delegation, files: kernelCgroupFiles });
  const launcher = new OciLauncher({ store, isolation, cgroups, shell, uid, gid });
  const images = new OciImageService({
    store,
    clock: deps.clock,
    pull: pull(store),
    inUse: () => runtime.imagesInUse(),
  });
  const runtime: ProcessRuntime = new ProcessRuntime({
    settings: { dataDir, hostIp, shell },
    ...deps,
    rooted: { launcher, images },
  });
  await runtime.open();
  const { terminal } = runtime.host;
  const { controllers } = delegation;
  const machine = { isolation, controllers, hasTerminals: terminal !== undefined };
  const powers: ProcessPowers = {
    ...processPowers(runtime),
    admit: (pod, others) => admitOciPod(pod, others, machine),
  };
  return { runtime, store, isolation, controllers, powers };
}

/** Returns the cgroups that this machine delegates to the agent. With v2 it moves the agent to a child of its cgroup. */
export const delegatedHere = (): Delegation =>
  findDelegation({
    files: kernelCgroupFiles,
    own: readIfThere('/proc/self/cgroup') ?? '',
    pid: process.pid,
  });

/** Opens the image store of a provider's directory. */
export const openStore = (
  { dataDir }: Pick<OciSettings, 'dataDir'>,
  { clock, uid }: { readonly clock: Clock; readonly uid: number },
  limits?: UnpackLimits,
): ImageStore =>
  new ImageStore({ dir: join(dataDir, 'images'), clock, asRoot: uid === 0, ...(limits && { limits }) });
