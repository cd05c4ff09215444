import { AgentError, messageOf } from '../base/errors.ts';
import { fnv1a32 } from '../base/fnv.ts';
import { goJson } from './go-types.ts';
import type { PodResourceMap } from './pod-resources.ts';
import type { ResourceRequirements } from './types.ts';

/** A pod's entry as the kubelet writes it. */
interface Entry {
  readonly ContainerResources?: Readonly<Record<string, ResourceRequirements>>;
  readonly PodLevelResources?: ResourceRequirements;
}

interface Checkpoint {
  readonly data: string;
  readonly checksum: number;
}

/** Go dumps a text under its type before it is hashed. */
const checksumOf = (data: string): number => fnv1a32(`(string)${data}`);

/**
 * The text of a checkpoint of pods' resources: the kubelet's own, so that either finds what the other left.
 * Follows kubelet `state.NewCheckpoint` (pkg/kubelet/allocation/state).
 */
export function encodeResourceCheckpoint(pods: PodResourceMap): string {
  const entries = Object.entries(pods).map(([uid, { containers, pod }]): readonly [string, Entry] => [
    uid,
    { ContainerResources: containers, ...(pod && { PodLevelResources: pod }) },
  ]);
  const data = goJson(entries.length > 0 ? { entries: Object.fromEntries(entries) } : {});
  return JSON.stringify({ data, checksum: checksumOf(data) } satisfies Checkpoint);
}

/** Reads a checkpoint. @throws {AgentError} `failed_precondition` when it is damaged: what it held cannot be guessed */
export function decodeResourceCheckpoint(text: string): PodResourceMap {
  try {
    const { data, checksum } = JSON.parse(text) as Checkpoint;
    if (checksumOf(data) !== checksum) throw new Error('checkpoint is corrupted');
    const { entries = {} } = JSON.parse(data) as { readonly entries?: Readonly<Record<string, Entry>> };
    return Object.fromEntries(
      Object.entries(entries).map(([uid, { ContainerResources = {}, PodLevelResources }]) => [
        uid,
        { containers: ContainerResources, ...(PodLevelResources && { pod: PodLevelResources }) },
      ]),
    );
  } catch (cause) {
    throw new AgentError('failed_precondition', messageOf(cause), { cause });
  }
}
