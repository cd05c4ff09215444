import { ignoreNotFound } from '../../controller/client/errors.ts';
import { isNotFound } from '../../api/client.ts';
import { type LabelSelector, labelSelectorMatches } from '../../kube/label-selector.ts';
import { rawPatch } from '../../controller/client/patches.ts';
import type { Client, Kind, KubeObject, Reader } from '../../controller/types.ts';
import { controllerOf, controllerReference, isDeleted, nameOf, namespaceOf, uidOf } from './objects.ts';

/** What a controller does with an object that may be its own. */
export type ClaimAction = 'own' | 'adopt' | 'release' | 'ignore';

/**
 * Returns what a controller does with an object: it keeps its own that match, releases its own that match no more, and adopts matching ones
 * without a controller.
 */
export function claimAction(
  object: KubeObject,
  owner: KubeObject,
  selects: (object: KubeObject) => boolean,
): ClaimAction {
  const controller = controllerOf(object);
  if (controller) {
    if (controller.uid !== uidOf(owner)) return 'ignore';
    if (selects(object)) return 'own';
    return isDeleted(owner) ? 'ignore' : 'release';
  }
  return isDeleted(owner) || isDeleted(object) || !selects(object) ? 'ignore' : 'adopt';
}

/** A selector of labels as a function of objects. */
export const selectorOf =
  (selector: LabelSelector | undefined): ((object: KubeObject) => boolean) =>
  ({ metadata }) =>
    labelSelectorMatches(selector, metadata?.labels);

interface Claimant {
  readonly client: Client;
  /** Reads the owner from the API server before the first adoption. */
  readonly live: Reader;
  readonly owner: KubeObject;
  readonly ownerKind: Kind;
  readonly selects: (object: KubeObject) => boolean;
  /** Adopted objects get it, released ones lose it. */
  readonly finalizer?: string;
  readonly signal: AbortSignal;
}

/** Adopts and releases objects, and returns those that the owner controls then. */
export async function claim<T extends KubeObject>(
  kind: Kind<T>,
  objects: readonly T[],
  by: Claimant,
): Promise<readonly T[]> {
  const claimed: T[] = [];
  let mayAdopt: boolean | undefined;
  for (const object of objects) {
    const action = claimAction(object, by.owner, by.selects);
    if (action === 'own') claimed.push(object);
    else if (action === 'release') await release(kind, object, by);
    else if (action === 'adopt' && (mayAdopt ??= await isCurrent(by))) {
      const adopted = await adopt(kind, object, by);
      if (adopted) claimed.push(adopted);
    }
  }
  return claimed;
}

/** Reports whether the owner still exists: one that is being deleted adopts nothing. */
async function isCurrent({ live, owner, ownerKind, signal }: Claimant): Promise<boolean> {
  const key = { namespace: namespaceOf(owner), name: nameOf(owner) };
  try {
    const fresh = await live.get(ownerKind, key, { signal });
    return uidOf(fresh) === uidOf(owner) && !isDeleted(fresh);
  } catch (reason) {
    if (isNotFound(reason)) return false;
    throw reason;
  }
}

async function adopt<T extends KubeObject>(
  kind: Kind<T>,
  object: T,
  { client, owner, ownerKind, finalizer, signal }: Claimant,
): Promise<T | undefined> {
  const ownerReferences = [controllerReference(owner, ownerKind)];
  const finalizers = finalizer === undefined ? {} : { finalizers: [finalizer] };
  return patchOwners(client, kind, object, {
    body: { metadata: { uid: uidOf(object), ownerReferences, ...finalizers } },
    signal,
  });
}

async function release<T extends KubeObject>(
  kind: Kind<T>,
  object: T,
  { client, owner, finalizer, signal }: Claimant,
): Promise<void> {
  const ownerReferences = [{ $patch: 'delete', uid: uidOf(owner) }];
  const finalizers = finalizer === undefined ? {} : { '$deleteFromPrimitiveList/finalizers': [finalizer] };
  const body = { metadata: { uid: uidOf(object), ownerReferences, ...finalizers } };
  await patchOwners(client, kind, object, { body, signal });
}

/** Patches; an object that does not exist any more, or another one of its name, is left alone. */
async function patchOwners<T extends KubeObject>(
  client: Client,
  kind: Kind<T>,
  object: T,
  { body, signal }: { readonly body: object; readonly signal: AbortSignal },
): Promise<T | undefined> {
  return client.patch(kind, object, rawPatch('strategic', body), { signal }).catch(ignoreNotFound);
}
