import { chmodSync, existsSync, mkdirSync, statSync } from 'node:fs';
import { AgentError } from '../../base/errors.ts';
import { parseQuantity, valueOf } from '../../kube/resources/quantity.ts';
import { podLimits, podRequests, type ResourceList } from '../../kube/resources/resources.ts';
import type { Pod, Volume } from '../../kube/types.ts';
import type { Mounter } from './mounter.ts';
import { fsGroupOf, setGroupOwnership } from './ownership.ts';
import { isHugePageResource } from '../../kube/resources/resource-names.ts';

export interface EmptyDirsDeps {
  readonly mounter: Pick<Mounter, 'isMountPoint' | 'mountTmpfs' | 'mountHugePages'>;
  /** What all pods of the node may have. */
  readonly nodeAllocatable: () => ResourceList;
}

/** What an emptyDir is made of. */
type EmptyDir = NonNullable<Volume['emptyDir']>;

/** Directories that live as long as their pods: on disk, in memory, in huge pages. Follows kubelet `emptydir.SetUpAt`. */
export class EmptyDirs {
  readonly #deps: EmptyDirsDeps;
  /** Those that stand: nobody looks into them again, for what a pod mounted there may answer no more. */
  readonly #standing = new Set<string>();

  constructor(deps: EmptyDirsDeps) {
    this.#deps = deps;
  }

  /** Makes a directory stand, open to everybody and the pod's group's own. @throws {AgentError} what the medium lacks */
  async mount(pod: Pod, dir: string, source: EmptyDir): Promise<void> {
    if (this.#standing.has(dir)) return;
    if (!this.#deps.mounter.isMountPoint(dir)) await this.#make(pod, dir, source);
    this.#standing.add(dir);
  }

  /** The directory is gone, or is about to go. */
  forget(dir: string): void {
    this.#standing.delete(dir);
  }

  async #make(pod: Pod, dir: string, { medium = '', sizeLimit }: EmptyDir): Promise<void> {
    const isNew = !existsSync(dir);
    mkdirSync(dir, { recursive: true });
    if (!isNew && medium === '') return;
    openToAll(dir);
    const { mounter } = this.#deps;
    if (medium === 'Memory') await mounter.mountTmpfs(dir, this.#memoryBytes(pod, sizeLimit));
    else if (medium.startsWith('HugePages')) await mounter.mountHugePages(dir, hugePageBytes(pod, medium));
    else if (medium !== '') throw new AgentError('unimplemented', `unknown storage medium "${medium}"`);
    const group = fsGroupOf(pod);
    if (group !== undefined) setGroupOwnership(dir, group);
  }

  /**
   * The most that a volume in memory may hold: what it says, but not more than the pod may have, and the pod not more than all pods.
   * Follows kubelet `calculateEmptyDirMemorySize`.
   */
  #memoryBytes(pod: Pod, sizeLimit: string | undefined): number | undefined {
    const { memory } = this.#deps.nodeAllocatable();
    const own = sizeLimit === undefined ? 0 : valueOf(parseQuantity(sizeLimit));
    const ofPod = memoryLimitOf(pod) ?? (memory === undefined ? 0 : valueOf(parseQuantity(memory)));
    const bounds = [own, ofPod].filter((bytes) => bytes > 0);
    return bounds.length === 0 ? undefined : Math.min(...bounds);
  }
}

/**
 * Lets everybody into a directory, past the umask. One that is open stays as it is: the root of a file system in memory keeps its sticky
 * bit. Follows kubelet `emptyDir.setupDir`.
 */
function openToAll(dir: string): void {
  if ((statSync(dir).mode & 0o777) !== 0o777) chmodSync(dir, 0o777);
}

/** Bytes that all containers of the pod may have together; absent: one of them has no limit. */
function memoryLimitOf(pod: Pod): number | undefined {
  const { containers = [], initContainers = [] } = pod.spec ?? {};
  const limited = [...containers, ...initContainers].every(
    ({ resources }) => resources?.limits?.['memory'] !== undefined,
  );
  const { memory } = podLimits(pod);
  return memory !== undefined && (limited || pod.spec?.resources?.limits?.['memory'] !== undefined)
    ? valueOf(memory)
    : undefined;
}

/**
 * The size of the pages of a volume: its medium says it, or the one size that the pod asks for.
 *
 * @throws {AgentError} `invalid_argument` when that is not one
 */
function hugePageBytes(pod: Pod, medium: string): number {
  const asked = new Set(Object.keys({ ...podRequests(pod), ...podLimits(pod) }).filter(isHugePageResource));
  const [name = ''] = medium === 'HugePages' ? asked : [medium.replace('HugePages-', 'hugepages-')];
  if (medium === 'HugePages' && asked.size !== 1)
    throw new AgentError(
      'invalid_argument',
      asked.size === 0
        ? 'no hugepages found in pod spec'
        : 'medium HugePages can be used only if exactly one page size is requested',
    );
  if (!asked.has(name))
    throw new AgentError(
      'invalid_argument',
      `medium ${medium} cannot be used: the pod does not request ${name}`,
    );
  return valueOf(parseQuantity(name.slice('hugepages-'.length)));
}
