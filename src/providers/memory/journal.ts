import { appendFileSync, renameSync, writeFileSync } from 'node:fs';
import { messageOf } from '../../base/errors.ts';
import type { Logger } from '../../base/logger.ts';
import { readIfThere } from '../../base/files/read-if-there.ts';
import type { Pod } from '../../kube/types.ts';
import type { Instance, MemoryPod } from './memory-pod.ts';

/** A pod as stored in the journal. */
type Written = Omit<MemoryPod, 'instances' | 'failedStarts' | 'listed'> & {
  readonly instances: readonly (readonly [string, readonly Instance[]])[];
  readonly failedStarts?: readonly (readonly [string, number])[];
};

interface Line {
  readonly uid: string;
  /** Absent: the pod was removed. */
  readonly record?: Written;
}

/** Returns the parts of a pod that the provider needs; its annotations set the behaviour of containers. */
const reduced = ({ metadata, spec }: Pod): Pod => ({
  metadata: { ...(metadata?.annotations && { annotations: metadata.annotations }) },
  spec: {
    containers: [],
    ...(spec?.initContainers && {
      initContainers: spec.initContainers.map(({ name, restartPolicy }) => ({
        name,
        ...(restartPolicy !== undefined && { restartPolicy }),
      })),
    }),
    ...(spec?.terminationGracePeriodSeconds !== undefined && {
      terminationGracePeriodSeconds: spec.terminationGracePeriodSeconds,
    }),
  },
});

/**
 * MemoryJournal persists the pods of a memory provider, so that they survive its process like those of a runtime: a file with one line per
 * change; the last line of a pod counts. Changes of one turn of the event loop are written together.
 */
export class MemoryJournal {
  readonly #path: string;
  readonly #logger: Logger;
  readonly #changed = new Map<string, MemoryPod | undefined>();
  #due = false;
  #failing = false;

  constructor(path: string, logger: Logger) {
    this.#path = path;
    this.#logger = logger;
  }

  /** Returns the stored pods; an incomplete last line is ignored. The file is rewritten without outdated lines. */
  load(): readonly MemoryPod[] {
    const written = (readIfThere(this.#path) ?? '').split('\n');
    const last = new Map<string, { readonly text: string; readonly record: Written }>();
    for (const text of written) {
      const { uid, record } = parse(text) ?? {};
      if (uid === undefined) continue;
      if (record) last.set(uid, { text, record });
      else last.delete(uid);
    }
    // The text ends with a newline, unless its last line is incomplete.
    const isFresh = written.length === last.size + 1 && written.at(-1) === '';
    if (!isFresh) this.#rewrite(Array.from(last.values(), ({ text }) => `${text}\n`));
    return Array.from(last.values(), ({ record }) => restored(record));
  }

  #rewrite(lines: readonly string[]): void {
    const fresh = `${this.#path}.new`;
    writeFileSync(fresh, lines.join(''));
    renameSync(fresh, this.#path);
  }

  /** Stores a pod before this turn of the event loop ends. @param record absent: the pod was removed */
  changed(uid: string, record: MemoryPod | undefined): void {
    this.#changed.set(uid, record);
    if (this.#due) return;
    this.#due = true;
    setImmediate(() => {
      this.#due = false;
      this.#write();
    });
  }

  /** Appends pending lines; on failure they are retried with the next change, and the pods continue. */
  #write(): void {
    const lines = Array.from(this.#changed, ([uid, record]) => `${JSON.stringify(lineOf(uid, record))}\n`);
    try {
      // An earlier failure may have left an incomplete line.
      appendFileSync(this.#path, `${this.#failing ? '\n' : ''}${lines.join('')}`);
      this.#changed.clear();
      this.#failing = false;
    } catch (reason) {
      const fields = { file: this.#path, err: messageOf(reason) };
      if (!this.#failing)
        this.#logger.error('the journal cannot be written; pods are lost when this process ends', fields);
      this.#failing = true;
    }
  }
}

function lineOf(uid: string, record: MemoryPod | undefined): Line {
  if (!record) return { uid };
  const { name, namespace, ip, sandbox, pod, failedStarts } = record;
  const instances = [...Map.groupBy(record.instances, (instance) => instance.name)].map(
    ([container, all]) => [container, all.map(({ timer: _, ...instance }) => instance)] as const,
  );
  return {
    uid,
    record: {
      ...{ uid, name, namespace, ip, sandbox, pod: pod && reduced(pod), instances },
      ...(failedStarts && { failedStarts: [...failedStarts] }),
    },
  };
}

const restored = ({ instances, failedStarts, ...rest }: Written): MemoryPod => ({
  ...rest,
  instances: instances.flatMap(([, all]) => all),
  ...(failedStarts && { failedStarts: new Map(failedStarts) }),
  listed: undefined,
});

function parse(text: string): Line | undefined {
  try {
    return JSON.parse(text) as Line;
  } catch {
    return undefined;
  }
}
