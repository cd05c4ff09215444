import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../base/logger.ts';
import type { Authority } from '../../pki/certificates.ts';
import { type JsonObject, nameOf, objectAt, sameJson, valueAt } from '../../apimachinery/json.ts';
import { builtIn, type Kind, kinds } from '../../apimachinery/kinds.ts';
import { quotaStatus } from '../admission/quotas.ts';
import type { ResourceApi } from '../endpoints/handlers/resource-api.ts';
import { type Change, keyOf, type Store } from '../storage/store.ts';
import type { World, WriteContext } from '../request/write-context.ts';
import type { User } from '../authentication/users.ts';

export interface ControllerDeps {
  readonly world: World;
  readonly resources: ResourceApi;
  readonly authority: Authority;
  readonly clock: Clock;
  readonly logger: Logger;
}

const system: User = { name: 'system:apiserver', groups: ['system:masters'] };

export const systemContext = (world: World): WriteContext => ({
  world,
  user: system,
  now: world.clock.now(),
  dryRun: false,
  warnings: [],
});

/** Runs `work` for each object of a storage, now and after each of its changes. */
export function follow(store: Store, storage: string, work: (object: JsonObject) => void): () => void {
  for (const { object } of [...store.list(storage)]) work(object);
  return store.onChange((changed, changes) => {
    if (changed !== storage) return;
    for (const change of changes) if (change.type !== 'DELETED') work(change.entry.object);
  });
}

/** Creates the `default` service account and the cluster's root certificate in every namespace. */
export function furnishNamespaces(deps: ControllerDeps): () => void {
  const writer = { manager: 'podtender', operation: 'Update', apiVersion: 'v1' } as const;
  const create = (kind: Kind, namespace: string, object: JsonObject): void => {
    const name = nameOf(object);
    if (deps.world.store.get(kind.storage, keyOf(namespace, name))) return;
    deps.resources.registry(kind).create(namespace, object, writer, systemContext(deps.world));
  };
  return follow(deps.world.store, 'namespaces', (namespace) => {
    if (valueAt(namespace, 'metadata', 'deletionTimestamp') !== undefined) return;
    create(builtIn('serviceaccounts'), nameOf(namespace), { metadata: { name: 'default' } });
    create(builtIn('configmaps'), nameOf(namespace), {
      metadata: { name: 'kube-root-ca.crt' },
      data: { 'ca.crt': deps.authority.cert },
    });
  });
}

/** Reports whether a pod's quota usage may have changed: the rest of its status has no influence. */
const mayCostOther = ({ entry, before }: Change): boolean =>
  valueAt(entry.object, 'status', 'phase') !== valueAt(before?.object, 'status', 'phase') ||
  valueAt(entry.object, 'metadata', 'generation') !== valueAt(before?.object, 'metadata', 'generation');

/** Updates the usage of quotas when a quota is written, an object is deleted or a pod ends. */
export function keepQuotas(deps: ControllerDeps): () => void {
  const { store } = deps.world;
  const storedKinds = kinds.filter((kind) => kind.namespaced && kind.storageHash !== undefined);
  const writer = {
    manager: 'podtender',
    operation: 'Update',
    apiVersion: 'v1',
    subresource: 'status',
  } as const;
  const recount = (namespace: string): void => {
    for (const { object } of [...store.list('resourcequotas', `${namespace}/`)]) {
      const status = quotaStatus(store, storedKinds, object);
      if (sameJson(status, objectAt(object, 'status'))) continue;
      const at = { namespace, name: nameOf(object), subresource: 'status' };
      const registry = deps.resources.registry(builtIn('resourcequotas'));
      registry.update(at, (standing) => ({ ...standing, status }), writer, systemContext(deps.world));
    }
  };
  const all = new Set([...store.list('resourcequotas')].map(({ key }) => key.split('/')[0] ?? ''));
  for (const namespace of all) recount(namespace);
  return store.onChange((storage, changes) => {
    if (storage !== 'resourcequotas' && store.count('resourcequotas') === 0) return;
    const own = storage === 'resourcequotas';
    const telling = changes.filter(
      (change) =>
        change.entry.key.includes('/') &&
        (own || change.type === 'DELETED' || (storage === 'pods' && mayCostOther(change))),
    );
    for (const namespace of new Set(telling.map(({ entry }) => entry.key.split('/')[0] ?? '')))
      recount(namespace);
  });
}
