import { existsSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { writeDurably } from '../../base/files/durable-file.ts';
import type { ContainerConfig, PodSandboxConfig, Signal } from '../../provider/cri-messages.ts';
import type { ProcessUser } from '../../processes/user.ts';
import { fromJson, readIfThere, toJson } from '../../processes/files.ts';

/** A sandbox on disk. It is only a record, as processes share the host's namespaces. Rewritten on each change. */
export interface SandboxRecord {
  readonly id: string;
  readonly config: PodSandboxConfig;
  readonly runtimeHandler: string;
  /** ns since the epoch */
  readonly createdAt: number;
  /** Boot id at its creation; after a reboot, the sandbox is no longer ready. */
  readonly bootId: string;
  readonly stopped: boolean;
}

/** What a container got from its image and its config together, fixed at its creation. */
export interface ResolvedImage {
  /** Id of the image. */
  readonly id: string;
  readonly argv: readonly string[];
  /** `NAME=VALUE` of the image's environment. */
  readonly env: readonly string[];
  readonly workingDir: string;
  readonly user: ProcessUser;
  readonly stopSignal?: Signal;
  /** What isolates the container, in the words of its launcher. */
  readonly isolation: string;
  /** True when its first process only watches over the program, which is the first child: signals are for the child alone. */
  readonly isWatched: boolean;
}

/** A container on disk, written once at its creation. */
export interface ContainerRecord {
  readonly id: string;
  readonly sandboxId: string;
  readonly config: ContainerConfig;
  /** Absent where images are names only. */
  readonly image?: ResolvedImage;
  /** Absolute path of its log; empty: none. */
  readonly logPath: string;
  /** ns since the epoch */
  readonly createdAt: number;
}

/** The outcome of a container, written once. */
export interface Outcome {
  readonly exitCode: number;
  readonly reason: string;
  readonly message: string;
  /** ns since the epoch; 0: it never ran */
  readonly startedAt: number;
  /** ns since the epoch */
  readonly finishedAt: number;
}

/** Identifies the process of a container; a pid alone may have been reused. */
export interface ProcessIdentity {
  readonly bootId: string;
  readonly pid: number;
  readonly startTicks: number;
  readonly supervisorPid: number;
  readonly supervisorStartTicks: number;
}

/** Writes a record as JSON, durably. */
export function saveRecord(path: string, record: SandboxRecord | ContainerRecord | Outcome): void {
  writeDurably(path, toJson(record));
}

/** Reads a record of {@link saveRecord}; `undefined` when it does not exist or is corrupt. The caller knows its type. */
export function loadRecord(path: string): unknown {
  const text = readIfThere(path);
  const value = text === undefined ? undefined : fromJson(text);
  return typeof value === 'object' && value !== null ? value : undefined;
}

/** Reads the containers of a provider's directory, which another process may be writing to; incomplete ones are left out. */
export function readContainers(dataDir: string): readonly ContainerRecord[] {
  const dir = join(dataDir, 'containers');
  if (!existsSync(dir)) return [];
  return readdirSync(dir).flatMap((id) => {
    const record = loadRecord(join(dir, id, 'container.json')) as ContainerRecord | undefined;
    return record?.id === id ? [record] : [];
  });
}

/**
 * Loads every record `DIR/ID/NAME`. Directories without a valid record are left by a crash during creation or removal;
 * they are removed and listed in the result.
 */
export function loadAll(
  directory: string,
  name: string,
): { readonly records: readonly unknown[]; readonly cleared: readonly string[] } {
  const records: unknown[] = [];
  const cleared: string[] = [];
  for (const id of readdirSync(directory)) {
    const record = loadRecord(join(directory, id, name)) as { readonly id?: string } | undefined;
    if (record?.id === id) records.push(record);
    else {
      rmSync(join(directory, id), { recursive: true, force: true });
      cleared.push(id);
    }
  }
  return { records, cleared };
}
