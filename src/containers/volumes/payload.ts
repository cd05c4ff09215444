import { cleanPath } from '../../go/clean-path.ts';
import { AgentError, messageOf } from '../../base/errors.ts';
import { fieldValue } from '../../kube/field-value.ts';
import { containerOfPod, resourceFieldValue } from '../../kube/resources/resource-field.ts';
import type { ResourceList } from '../../kube/resources/resources.ts';
import type { ConfigMap, Pod, Secret, Volume } from '../../kube/types.ts';
import type { Payload, PayloadFile } from './atomic-writer.ts';

type Items = readonly { readonly key: string; readonly path: string; readonly mode?: number }[];
type DownwardItems = NonNullable<NonNullable<Volume['downwardAPI']>['items']>;

/** How keys of an object are mapped to files. */
export interface KeyMapping {
  /** Absent or empty: each key becomes a file of its name. */
  readonly items?: Items | null | undefined;
  readonly defaultMode?: number | null | undefined;
  /** Skip a missing key instead of failing. */
  readonly optional?: boolean | undefined;
}

function modeOf(defaultMode: number | null | undefined): number {
  if (typeof defaultMode === 'number') return defaultMode;
  throw new AgentError('invalid_argument', 'no defaultMode used, not even the default value for it');
}

type Entries = readonly (readonly [string, Uint8Array])[];

/**
 * @param data entries; for duplicate keys an item uses the first, and a mapping without items the last
 * @param missing message before the missing key
 */
function pick(data: Entries, mapping: KeyMapping, missing: string): Payload {
  const mode = modeOf(mapping.defaultMode);
  const items = mapping.items ?? [];
  if (items.length === 0) return Object.fromEntries(data.map(([key, bytes]) => [key, { data: bytes, mode }]));
  const files = new Map<string, PayloadFile>();
  const firstByKey = new Map(data.toReversed());
  for (const item of items) {
    const bytes = firstByKey.get(item.key);
    if (bytes) files.set(item.path, { data: bytes, mode: item.mode ?? mode });
    else if (!mapping.optional) throw new AgentError('not_found', `${missing}: ${item.key}`);
  }
  return Object.fromEntries(files);
}

const base64 = (map: Readonly<Record<string, string>> | undefined): [string, Uint8Array][] =>
  Object.entries(map ?? {}).map(([key, text]) => [key, Buffer.from(text, 'base64')]);

/** Returns the files of a config map. Follows `configmap.MakePayload`. @throws {AgentError} for a missing key */
export function configMapPayload(configMap: ConfigMap, mapping: KeyMapping): Payload {
  const text = Object.entries(configMap.data ?? {}).map(([key, value]): [string, Uint8Array] => [
    key,
    Buffer.from(value),
  ]);
  return pick(
    [...text, ...base64(configMap.binaryData)],
    mapping,
    'configmap references non-existent config key',
  );
}

/** Returns the files of a secret. Follows `secret.MakePayload`. @throws {AgentError} for a missing key */
export const secretPayload = (secret: Secret, mapping: KeyMapping): Payload =>
  pick(base64(secret.data), mapping, 'references non-existent secret key');

/** Sources of a downward API volume besides the API objects. */
export interface DownwardSource {
  readonly pod: Pod;
  /** The node's allocatable amounts; they replace limits that are not set. */
  readonly nodeAllocatable: ResourceList;
}

/** An error that combines several. */
class AggregateFault extends AgentError {
  readonly faults: readonly unknown[];

  constructor(faults: readonly unknown[], message: string) {
    super('invalid_argument', message);
    this.faults = faults;
  }
}

const leaves = (fault: unknown): readonly unknown[] =>
  fault instanceof AggregateFault ? fault.faults.flatMap(leaves) : [fault];

/** Combines errors into one, without duplicates; in brackets when there are several (Go's aggregate). */
export function aggregate(faults: readonly unknown[]): AgentError | undefined {
  const texts = [...new Set(faults.flatMap(leaves).map(messageOf))];
  const [first] = texts;
  if (first === undefined) return undefined;
  return new AggregateFault(faults, texts.length === 1 ? first : `[${texts.join(', ')}]`);
}

/** Returns the files of a downward API volume. Follows `downwardapi.CollectData`. @throws {AgentError} with the errors of all items */
export function downwardPayload(
  items: DownwardItems,
  defaultMode: number | null | undefined,
  source: DownwardSource,
): Payload {
  const fallback = modeOf(defaultMode);
  const faults: unknown[] = [];
  const files = new Map<string, PayloadFile>();
  for (const { path, mode, fieldRef, resourceFieldRef } of items) {
    try {
      const text = fieldRef
        ? fieldValue(source.pod, fieldRef.fieldPath)
        : resourceFieldRef
          ? resourceFieldValue(
              source.pod,
              containerOfPod(source.pod, resourceFieldRef.containerName ?? ''),
              resourceFieldRef,
              source.nodeAllocatable,
            )
          : '';
      files.set(cleanPath(path), { data: Buffer.from(text), mode: mode ?? fallback });
    } catch (reason) {
      faults.push(reason);
    }
  }
  const fault = aggregate(faults);
  if (fault) throw fault;
  return Object.fromEntries(files);
}
