import { ignoreNotFound } from '../../controller/client/errors.ts';
import type { OwnerReference } from '../../controller/controllerutil/owner-references.ts';
import { kinds } from '../../controller/kinds.ts';
import type { Client, Kind, KubeObject, Reader } from '../../controller/types.ts';
import { kindByName } from '../workload/kind-by-name.ts';
import { controllerOf, nameOf, namespaceOf, uidOf } from '../workload/objects.ts';
import type { Pod } from '../workload/types.ts';

/** Where controllers of pods are read. */
export interface ScaleReaders {
  readonly client: Client;
  /** Reads from the API server. */
  readonly reader: Reader;
}

/** What the controllers of pods call for. */
export interface ExpectedPods {
  /** The sizes of all controllers. */
  readonly count: number;
  /** Names of the pods without a controller, which count for nothing. */
  readonly unmanaged: readonly string[];
}

/** A controller and its size. */
interface Sized {
  readonly uid: string;
  readonly replicas: number;
}

interface Scaled extends KubeObject {
  spec?: { replicas?: number };
}

const setKinds: ReadonlyMap<string, Kind<Scaled>> = new Map<string, Kind<Scaled>>([
  ['v1/ReplicationController', kinds.ReplicationController],
  ['apps/v1/ReplicaSet', kinds.ReplicaSet],
  ['apps/v1/StatefulSet', kinds.StatefulSet],
]);

/**
 * Returns how many pods the controllers of these pods call for: of a ReplicaSet with a Deployment the Deployment's size counts, once.
 *
 * @throws {Error} for a pod whose controller is gone or has no size
 */
export async function expectedPods(
  readers: ScaleReaders,
  pods: readonly Pod[],
  signal: AbortSignal,
): Promise<ExpectedPods> {
  const sizes = new Map<string, number>();
  const owners = new Set<string>();
  const unmanaged: string[] = [];
  for (const pod of pods) {
    const owner = controllerOf(pod);
    if (!owner) unmanaged.push(nameOf(pod));
    if (!owner || owners.has(owner.uid)) continue;
    const sized = await sizeOf(readers, owner, namespaceOf(pod), signal);
    if (!sized) throw new Error(`found no controllers for pod "${nameOf(pod)}"`);
    owners.add(owner.uid);
    sizes.set(sized.uid, sized.replicas);
  }
  return { count: [...sizes.values()].reduce((sum, size) => sum + size, 0), unmanaged };
}

/** Returns the controller by whose size a pod's owner is counted; undefined: it is gone. */
async function sizeOf(
  { client, reader }: ScaleReaders,
  owner: OwnerReference,
  namespace: string,
  signal: AbortSignal,
): Promise<Sized | undefined> {
  const kind = setKinds.get(`${owner.apiVersion}/${owner.kind}`);
  if (!kind) return customSize(client, reader, { owner, namespace }, signal);
  const set = await client.get(kind, { namespace, name: owner.name }, { signal }).catch(ignoreNotFound);
  if (!set || uidOf(set) !== owner.uid) return undefined;
  const above = owner.kind === 'ReplicaSet' ? controllerOf(set) : undefined;
  return above?.kind === 'Deployment' ? deploymentSize(client, above, namespace, signal) : sized(set);
}

const sized = (object: Scaled): Sized => ({ uid: uidOf(object), replicas: object.spec?.replicas ?? 1 });

async function deploymentSize(
  client: Client,
  { name, uid }: OwnerReference,
  namespace: string,
  signal: AbortSignal,
): Promise<Sized | undefined> {
  const deployment = await client
    .get(kinds.Deployment, { namespace, name }, { signal })
    .catch(ignoreNotFound);
  return deployment && uidOf(deployment) === uid ? sized(deployment) : undefined;
}

/** Reads the size of any other controller by its subresource `scale`. */
async function customSize(
  client: Client,
  reader: Reader,
  { owner, namespace }: { readonly owner: OwnerReference; readonly namespace: string },
  signal: AbortSignal,
): Promise<Sized | undefined> {
  const kind = await kindByName(reader, owner, signal);
  if (!kind.hasScale) {
    const resource = kind.group === '' ? kind.resource : `${kind.resource}.${kind.group}`;
    throw new Error(`${resource} does not implement the scale subresource`);
  }
  const scale: Scaled | undefined = await client
    .subResource('scale')
    .get(kind, { metadata: { namespace, name: owner.name } }, { signal })
    .catch(ignoreNotFound);
  if (!scale || uidOf(scale) !== owner.uid) return undefined;
  return { uid: owner.uid, replicas: scale.spec?.replicas ?? 0 };
}
