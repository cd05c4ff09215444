import { mkdirSync, readdirSync, rmSync } from 'node:fs';
import { AgentError, messageOf } from '../../base/errors.ts';
import { readIfThere } from '../../base/files/read-if-there.ts';
import { writeDurably } from '../../base/files/durable-file.ts';
import type { Random } from '../../base/random.ts';
import { goQuote } from '../../go/go-quote.ts';
import { uidOf } from '../../kube/names.ts';
import type { Pod } from '../../kube/types.ts';
import { NamespaceMode, type UserNamespace } from '../../provider/cri-messages.ts';
import { layout } from '../paths/layout.ts';
import { mappingText, parseMapping } from './mapping-file.ts';
import { type IdRange, idUnit, UserRanges } from './ranges.ts';
import { nodeIds, type SubordinateIds } from './subordinate-ids.ts';

/** Whether a handler of the container runtime can run pods in user namespaces of their own. */
interface HandlerSupport {
  readonly name: string;
  readonly userNamespaces: boolean;
}

/** What {@link UserNamespaces} is made of. */
export interface UserNamespacesDeps {
  readonly rootDir: string;
  readonly random: Random;
  readonly host: SubordinateIds;
  readonly maxPods: number;
  /** Kubelet `userNamespaces.idsPerPod`; default: 65536. */
  readonly idsPerPod?: number;
  /** What the runtime's handlers can do; absent: it was not asked. */
  readonly handlers: () => readonly HandlerSupport[] | undefined;
}

/**
 * The ids on the host of pods that want users of their own (`hostUsers: false`), kept in the file `userns` of the pod's folder.
 *
 * Follows kubelet `userns.UsernsManager`.
 */
export class UserNamespaces {
  readonly #deps: UserNamespacesDeps;
  readonly #ranges: UserRanges;

  private constructor(deps: UserNamespacesDeps, ranges: UserRanges) {
    this.#deps = deps;
    this.#ranges = ranges;
  }

  /**
   * Notes what pods were given before.
   *
   * @throws {AgentError} when the node's ids cannot be cut up as wished, or a pod's file cannot be made sense of
   */
  static async start(deps: UserNamespacesDeps): Promise<UserNamespaces> {
    const { idsPerPod = idUnit, maxPods, random, host } = deps;
    try {
      const ids = await nodeIds(idsPerPod, host).catch(told('kubelet mappings'));
      const users = new UserNamespaces(deps, new UserRanges({ ids, idsPerPod, maxPods, random }));
      for (const uid of users.#podsOnDisk()) users.#recall(uid);
      return users;
    } catch (reason) {
      return told('create user namespace manager')(reason);
    }
  }

  /**
   * The users of a pod's containers, the same for as long as the pod is there.
   *
   * @throws {AgentError} `failed_precondition` when the runtime cannot give a pod users of its own, `resource_exhausted` when all ids are
   *   given away
   */
  of(pod: Pod, runtimeHandler: string): UserNamespace {
    if (pod.spec?.hostUsers !== false) return { mode: NamespaceMode.NODE };
    this.#checkHandler(runtimeHandler);
    const { first, length } = this.#rangeOf(uidOf(pod));
    const mapping = [{ hostId: first, containerId: 0, length }];
    return { mode: NamespaceMode.POD, uids: mapping, gids: mapping };
  }

  release(uid: string): void {
    if (this.#ranges.release(uid)) rmSync(this.#file(uid), { force: true });
  }

  /** Releases what belongs to none of the pods to keep, and what has lost its folder. */
  releaseOrphans(keep: (uid: string) => boolean): void {
    const found = new Set(this.#podsOnDisk());
    for (const uid of this.#ranges.pods) if (!found.has(uid) || !keep(uid)) this.release(uid);
  }

  #checkHandler(name: string): void {
    const handlers = this.#deps.handlers() ?? [];
    const handler = handlers.find((one) => one.name === name);
    if (handler?.userNamespaces === true) return;
    const subject = name === '' ? 'runtime' : `RuntimeClass handler ${goQuote(name)}`;
    // an old runtime tells of none
    const unknown = handler || handlers.length === 0 ? '' : `: the handler ${goQuote(name)} is not known`;
    throw new AgentError(
      'failed_precondition',
      `can't set \`spec.hostUsers: false\`, ${subject} does not support user namespaces${unknown}`,
    );
  }

  #rangeOf(uid: string): IdRange {
    const text = this.#read(uid);
    try {
      return text === '' ? this.#create(uid) : this.#record(uid, text);
    } catch (reason) {
      return told(text === '' ? 'create user namespace' : 'user namespace')(reason);
    }
  }

  #recall(uid: string): void {
    try {
      const text = this.#read(uid);
      if (text !== '') this.#record(uid, text);
    } catch (reason) {
      told(`record pod mappings for existing pod ${goQuote(uid)}`)(reason);
    }
  }

  #create(uid: string): IdRange {
    const range = this.#ranges.allocate(uid);
    try {
      mkdirSync(layout.podDir(this.#deps.rootDir, uid), { recursive: true, mode: 0o750 });
      writeDurably(this.#file(uid), mappingText(range));
      return range;
    } catch (reason) {
      this.release(uid);
      throw reason;
    }
  }

  #record(uid: string, text: string): IdRange {
    const range = parseMapping(text);
    this.#ranges.record(uid, range);
    return range;
  }

  /** Empty: the pod has no file. */
  #read(uid: string): string {
    return readIfThere(this.#file(uid)) ?? '';
  }

  #podsOnDisk(): readonly string[] {
    try {
      return readdirSync(layout.podsDir(this.#deps.rootDir));
    } catch (reason) {
      if ((reason as NodeJS.ErrnoException).code === 'ENOENT') return [];
      throw reason;
    }
  }

  #file(uid: string): string {
    return layout.userNamespace(this.#deps.rootDir, uid);
  }
}

/** Puts before an error what was being done. */
const told =
  (what: string) =>
  (reason: unknown): never => {
    throw new AgentError(AgentError.from(reason).code, `${what}: ${messageOf(reason)}`, { cause: reason });
  };
