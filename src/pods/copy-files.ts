import { mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { writeDurablySoon } from '../base/files/durable-file.ts';
import { AgentError, messageOf } from '../base/errors.ts';
import { readIfThere } from '../base/files/read-if-there.ts';
import { uidOf } from '../kube/names.ts';
import type { Pod } from '../kube/types.ts';

/** Stores the copies that middleware made of pods, so that a pod that has started goes on with its copy after a restart of the agent. */
export interface CopyKeeper {
  /** Returns the copy that was saved last; `undefined` when there is none. @throws {AgentError} for one that is damaged */
  read(pod: Pod): Pod | undefined;
  /** Saves a copy. Calls for one pod do not overlap. */
  save(copy: Pod): Promise<void>;
}

/** CopyFiles stores each pod's copy in a file that goes with the pod's directory. */
export class CopyFiles implements CopyKeeper {
  readonly #pathOf: (pod: Pod) => string;

  constructor(pathOf: (pod: Pod) => string) {
    this.#pathOf = pathOf;
  }

  read(pod: Pod): Pod | undefined {
    const path = this.#pathOf(pod);
    const text = readIfThere(path);
    if (text === undefined) return undefined;
    try {
      const copy = JSON.parse(text) as Pod;
      if (uidOf(copy) === uidOf(pod) && Array.isArray(copy.spec?.containers)) return copy;
    } catch (cause) {
      throw damaged(path, messageOf(cause));
    }
    throw damaged(path, `it is not of pod ${uidOf(pod)}`);
  }

  async save(copy: Pod): Promise<void> {
    const { status: _, ...desired } = copy;
    const text = JSON.stringify(desired);
    const path = this.#pathOf(copy);
    if (readIfThere(path) === text) return;
    await mkdir(dirname(path), { recursive: true, mode: 0o750 });
    await writeDurablySoon(path, text);
  }
}

const damaged = (path: string, why: string): AgentError =>
  new AgentError(
    'failed_precondition',
    `the copy that middleware made of the pod cannot be read: ${path}: ${why}; delete the pod, or remove the file to have the pod as it is`,
  );
