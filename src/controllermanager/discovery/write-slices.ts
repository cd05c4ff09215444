import { hasCause, isNotFound } from '../../api/client.ts';
import { kinds } from '../../controller/kinds.ts';
import type { Client } from '../../controller/types.ts';
import { nameOf, namespaceOf } from '../workload/objects.ts';
import { type Slice, triggerAnnotation } from './service-pods.ts';
import type { SlicePlan } from './slice-plan.ts';

interface Writing {
  readonly client: Client;
  readonly signal: AbortSignal;
  /** The time that goes into an annotation; undefined: the annotation is removed. */
  readonly trigger?: string | undefined;
  /** No slices are created for an owner that is being deleted. */
  readonly mayCreate: boolean;
}

/** Creates, updates and deletes slices. In a terminating namespace nothing is created any more. */
export async function writeSlices(
  plan: SlicePlan,
  { client, signal, trigger, mayCreate }: Writing,
): Promise<void> {
  const triggered = (slice: Slice): Slice => {
    const { [triggerAnnotation]: _old, ...rest } = slice.metadata?.annotations ?? {};
    const annotations = trigger === undefined ? rest : { ...rest, [triggerAnnotation]: trigger };
    const { annotations: _annotations, ...metadata } = slice.metadata ?? {};
    return {
      ...slice,
      metadata: { ...metadata, ...(Object.keys(annotations).length > 0 && { annotations }) },
    };
  };
  if (mayCreate)
    try {
      for (const slice of plan.create) await client.create(kinds.EndpointSlice, triggered(slice), { signal });
    } catch (reason) {
      if (hasCause(reason, 'NamespaceTerminating')) return;
      throw reason;
    }
  for (const slice of plan.update) await client.update(kinds.EndpointSlice, triggered(slice), { signal });
  await deleteSlices(plan.remove, { client, signal });
}

/** Deletes slices that still exist. */
export async function deleteSlices(
  slices: readonly Slice[],
  { client, signal }: { readonly client: Client; readonly signal: AbortSignal },
): Promise<void> {
  for (const slice of slices)
    try {
      const key = { namespace: namespaceOf(slice), name: nameOf(slice) };
      await client.delete(kinds.EndpointSlice, key, { signal });
    } catch (reason) {
      if (!isNotFound(reason)) throw reason;
    }
}
