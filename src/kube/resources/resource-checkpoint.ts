import { ownMember } from '../../base/own.ts';
import { AgentError, messageOf } from '../../base/errors.ts';
import { fnv1a32 } from '../../base/fnv.ts';
import { goJson } from '../../go/go-json.ts';
import type { PodResourceInfo, PodResourceMap } from './pod-resources.ts';
import type { ResourceRequirements } from '../types.ts';

/** A pod's entry in the kubelet's format. */
interface Entry {
  readonly ContainerResources?: Readonly<Record<string, ResourceRequirements>>;
  readonly PodLevelResources?: ResourceRequirements;
}

interface Checkpoint {
  readonly data: string;
  readonly checksum: number;
}

/** Go prefixes a text with its type before hashing it. */
const checksumOf = (data: string): number => fnv1a32(`(string)${data}`);

/**
 * Encodes a checkpoint of pods' resources in the kubelet's format, so that each can read the other's.
 * Follows kubelet `state.NewCheckpoint` (pkg/kubelet/allocation/state).
 */
export function encodeResourceCheckpoint(pods: PodResourceMap): string {
  const uids = Object.keys(pods).sort();
  const entries = uids.map((uid) => `${JSON.stringify(uid)}:${entryOf(ownMember(pods, uid))}`);
  const data = entries.length > 0 ? `{"entries":{${entries.join(',')}}}` : '{}';
  return JSON.stringify({ data, checksum: checksumOf(data) } satisfies Checkpoint);
}

/** Cache of encoded entries: a node with thousands of pods writes the same ones nearly every time. */
const written = new WeakMap<PodResourceInfo, string>();

function entryOf(info: PodResourceInfo | undefined): string {
  if (!info) return '{}';
  let text = written.get(info);
  if (text === undefined) {
    const { containers, pod } = info;
    text = goJson({ ContainerResources: containers, ...(pod && { PodLevelResources: pod }) } satisfies Entry);
    written.set(info, text);
  }
  return text;
}

/** Decodes a checkpoint. @throws {AgentError} `failed_precondition` when it is corrupt */
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
