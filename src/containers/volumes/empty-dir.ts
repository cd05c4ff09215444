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
  /** Returns the node's allocatable amounts. */
  readonly nodeAllocatable: () => ResourceList;
}

/** The `emptyDir` of a volume. */
type EmptyDir = NonNullable<Volume['emptyDir']>;

/**
 * EmptyDirs creates directories that live as long as their pods: on disk, in memory or in huge pages. Follows kubelet `emptydir.SetUpAt`.
 */
export class EmptyDirs {
  readonly #deps: EmptyDirsDeps;
  /** Directories that are set up; they are not inspected again, as a file system that a pod mounted inside may hang. */
  readonly #standing = new Set<string>();

  constructor(deps: EmptyDirsDeps) {
    this.#deps = deps;
  }

  /** Sets up a directory that is accessible to all and owned by the pod's group. @throws {AgentError} when the medium cannot be provided */
  async mount(pod: Pod, dir: string, source: EmptyDir): Promise<void> {
    if (this.#standing.has(dir)) return;
    if (!this.#deps.mounter.isMountPoint(dir)) await this.#make(pod, dir, source);
    this.#standing.add(dir);
  }

  /** Forgets a directory that is being removed. */
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
   * Returns the size limit of a volume in memory: its sizeLimit, bounded by the pod's memory limit and the node's allocatable memory.
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
 * Makes a directory accessible to all, regardless of the umask. A directory that is already so is left unchanged: the root of a tmpfs keeps
 * its sticky bit. Follows kubelet `emptyDir.setupDir`.
 */
function openToAll(dir: string): void {
  if ((statSync(dir).mode & 0o777) !== 0o777) chmodSync(dir, 0o777);
}

/** Returns the memory limit of all containers together, bytes; `undefined` when a container has no limit. */
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
 * Returns the page size of a volume: from its medium, or the only size that the pod requests.
 *
 * @throws {AgentError} `invalid_argument` when there is not exactly one
 */
function hugePageBytes(pod: Pod, medium: string): number {
  const pageResources = new Set(
    Object.keys({ ...podRequests(pod), ...podLimits(pod) }).filter(isHugePageResource),
  );
  const [name = ''] = medium === 'HugePages' ? pageResources : [medium.replace('HugePages-', 'hugepages-')];
  if (medium === 'HugePages' && pageResources.size !== 1)
    throw new AgentError(
      'invalid_argument',
      pageResources.size === 0
        ? 'no hugepages found in pod spec'
        : 'medium HugePages can be used only if exactly one page size is requested',
    );
  if (!pageResources.has(name))
    throw new AgentError(
      'invalid_argument',
      `medium ${medium} cannot be used: the pod does not request ${name}`,
    );
  return valueOf(parseQuantity(name.slice('hugepages-'.length)));
}
