import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { writeDurably } from '../../base/files/durable-file.ts';
import type { ContainerConfig, PodSandboxConfig } from '../../provider/cri-messages.ts';
import { fromJson, readIfThere, toJson } from '../../processes/files.ts';

/** A sandbox on disk: nothing but a record, since processes share the host's namespaces. Written anew on each change. */
export interface SandboxRecord {
  readonly id: string;
  readonly config: PodSandboxConfig;
  readonly runtimeHandler: string;
  /** ns since the epoch */
  readonly createdAt: number;
  /** A sandbox of an earlier boot is not ready any more. */
  readonly bootId: string;
  readonly stopped: boolean;
}

/** A container on disk, written once when it is created. */
export interface ContainerRecord {
  readonly id: string;
  readonly sandboxId: string;
  readonly config: ContainerConfig;
  /** Full path of its log; empty: none. */
  readonly logPath: string;
  /** ns since the epoch */
  readonly createdAt: number;
}

/** How a container ended, written once. */
export interface Outcome {
  readonly exitCode: number;
  readonly reason: string;
  readonly message: string;
  /** ns since the epoch; 0: it never ran */
  readonly startedAt: number;
  /** ns since the epoch */
  readonly finishedAt: number;
}

/** How the process of a container is recognised: a pid alone may be another's by now. */
export interface ProcessIdentity {
  readonly bootId: string;
  readonly pid: number;
  readonly startTicks: number;
  readonly supervisorPid: number;
  readonly supervisorStartTicks: number;
}

/** Writes one record as JSON, durably. */
export function saveRecord(path: string, record: SandboxRecord | ContainerRecord | Outcome): void {
  writeDurably(path, toJson(record));
}

/** Reads what {@link saveRecord} wrote; absent when there is none or it is damaged. The caller knows which kind lies there. */
export function loadRecord(path: string): unknown {
  const text = readIfThere(path);
  const value = text === undefined ? undefined : fromJson(text);
  return typeof value === 'object' && value !== null ? value : undefined;
}

/**
 * Loads every record `DIR/ID/NAME`. A directory without a whole record is what a crash in the middle of a creation or removal
 * leaves; it is cleared away and named in the answer.
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
