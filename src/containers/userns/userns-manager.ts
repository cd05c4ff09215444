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

/** Whether a runtime handler supports user namespaces. */
interface HandlerSupport {
  readonly name: string;
  readonly userNamespaces: boolean;
}

/** Dependencies of {@link UserNamespaces}. */
export interface UserNamespacesDeps {
  readonly rootDir: string;
  readonly random: Random;
  readonly host: SubordinateIds;
  readonly maxPods: number;
  /** Kubelet `userNamespaces.idsPerPod`; default: 65536. */
  readonly idsPerPod?: number;
  /** Returns the runtime's handlers; `undefined` before the runtime was queried. */
  readonly handlers: () => readonly HandlerSupport[] | undefined;
}

/**
 * UserNamespaces provides host ids for pods with user namespaces (`hostUsers: false`), stored in the file `userns` of the pod's directory.
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
   * Creates the manager and loads existing allocations.
   *
   * @throws {AgentError} when the node's ids cannot be divided as configured, or a pod's file cannot be parsed
   */
  static async start(deps: UserNamespacesDeps): Promise<UserNamespaces> {
    const { idsPerPod = idUnit, maxPods, random, host } = deps;
    try {
      const ids = await nodeIds(idsPerPod, host).catch(failed('kubelet mappings'));
      const users = new UserNamespaces(deps, new UserRanges({ ids, idsPerPod, maxPods, random }));
      for (const uid of users.#podsOnDisk()) users.#recall(uid);
      return users;
    } catch (reason) {
      return failed('create user namespace manager')(reason);
    }
  }

  /**
   * Returns the mapping of a pod, the same for the lifetime of the pod.
   *
   * @throws {AgentError} `failed_precondition` when the runtime does not support user namespaces, `resource_exhausted` when no ids are
   * free
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

  /** Releases ranges of pods that are not to be kept or have no directory. */
  releaseOrphans(keep: (uid: string) => boolean): void {
    const found = new Set(this.#podsOnDisk());
    for (const uid of this.#ranges.pods) if (!found.has(uid) || !keep(uid)) this.release(uid);
  }

  #checkHandler(name: string): void {
    const handlers = this.#deps.handlers() ?? [];
    const handler = handlers.find((one) => one.name === name);
    if (handler?.userNamespaces === true) return;
    const subject = name === '' ? 'runtime' : `RuntimeClass handler ${goQuote(name)}`;
    // Old runtimes report no handlers.
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
      return failed(text === '' ? 'create user namespace' : 'user namespace')(reason);
    }
  }

  #recall(uid: string): void {
    try {
      const text = this.#read(uid);
      if (text !== '') this.#record(uid, text);
    } catch (reason) {
      failed(`record pod mappings for existing pod ${goQuote(uid)}`)(reason);
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

  /** Reads the pod's file; empty when there is none. */
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

/** Returns an error handler that prefixes the operation to the message. */
const failed =
  (what: string) =>
  (reason: unknown): never => {
    throw new AgentError(AgentError.from(reason).code, `${what}: ${messageOf(reason)}`, { cause: reason });
  };
