import { type ApiClient, isAlreadyExists, isNotFound } from '../../api/client.ts';
import { configMapResource, type Resource, secretResource } from '../../api/resources.ts';
import type { Clock } from '../../base/clock.ts';
import { AgentError } from '../../base/errors.ts';
import { namespaceOf, uidOf } from '../../kube/names.ts';
import type { KubeObject, Pod } from '../../kube/types.ts';
import { type CarriedObject, objectOf } from './carried.ts';
import { type BackingOwner, isOwned, ownerLabels, ownerReferenceTo } from './ownership.ts';

export interface CarrierDeps {
  readonly client: ApiClient;
  readonly clock: Clock;
  readonly owner: BackingOwner;
}

/** An object as it was last written or compared. */
interface Written {
  readonly content: string;
  /** ms since the epoch */
  readonly at: number;
}

/** How long an object counts as unchanged in the backing cluster, ms; then it is read and compared again. */
const trustMs = 600_000;

/**
 * Carrier writes the objects that backing pods refer to, and writes them again when their content changes here or, as seen every ten minutes,
 * there.
 */
export class Carrier {
  readonly #deps: CarrierDeps;
  /** By pod UID and name. */
  readonly #written = new Map<string, Map<string, Written>>();

  constructor(deps: CarrierDeps) {
    this.#deps = deps;
  }

  /** Writes the objects that are missing or differ. They go with the backing pod. */
  async write(
    uid: string,
    backing: Pod,
    objects: readonly CarriedObject[],
    signal: AbortSignal,
  ): Promise<void> {
    const written = this.#written.get(uid) ?? new Map<string, Written>();
    const now = this.#deps.clock.now();
    this.#written.set(uid, written);
    for (const object of objects) {
      const content = JSON.stringify(object);
      const last = written.get(object.name);
      if (last?.content === content && now - last.at < trustMs) continue;
      await this.#put(uid, backing, object, signal);
      written.set(object.name, { content, at: now });
    }
  }

  /** Forgets what was written for a pod. */
  forget(uid: string): void {
    this.#written.delete(uid);
  }

  async #put(uid: string, backing: Pod, carried: CarriedObject, signal: AbortSignal): Promise<void> {
    const { client, owner } = this.#deps;
    const resource = carried.kind === 'Secret' ? secretResource : configMapResource;
    const namespace = namespaceOf(backing);
    const desired = objectOf(carried, {
      namespace,
      labels: ownerLabels(owner, uid),
      ownerReferences: [ownerReferenceTo(backing)],
    });
    const standing = await this.#standing(resource, { namespace, name: carried.name }, signal);
    if (!standing) {
      try {
        await client.create(resource, desired, { signal });
        return;
      } catch (reason) {
        if (!isAlreadyExists(reason)) throw reason;
      }
    } else if (!isOwned(standing, owner, uid))
      throw new AgentError(
        'already_exists',
        `${carried.kind.toLowerCase()} ${namespace}/${carried.name} of the backing cluster belongs to another: remove it`,
      );
    else if (isSame(standing, desired, backing)) return;
    await client.update(resource, desired, { signal });
  }

  async #standing(
    resource: Resource,
    ref: { readonly namespace: string; readonly name: string },
    signal: AbortSignal,
  ): Promise<KubeObject | undefined> {
    try {
      return await this.#deps.client.get(resource, ref, { signal });
    } catch (reason) {
      if (isNotFound(reason)) return undefined;
      throw reason;
    }
  }
}

const contentOf = (object: KubeObject): string => {
  const { data = {}, binaryData = {} } = object as {
    readonly data?: Record<string, string>;
    readonly binaryData?: Record<string, string>;
  };
  return JSON.stringify([Object.entries(data).sort(), Object.entries(binaryData).sort()]);
};

const isSame = (standing: KubeObject, desired: KubeObject, backing: Pod): boolean =>
  contentOf(standing) === contentOf(desired) &&
  (standing.metadata?.ownerReferences ?? []).some(({ uid }) => uid === uidOf(backing));
