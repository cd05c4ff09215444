import { messageOf } from '../../base/errors.ts';
import type { StopTimer } from '../../base/clock.ts';
import {
  type JsonObject,
  listAt,
  metadataOf,
  nameOf,
  specOf,
  statusOf,
  valueAt,
} from '../../apimachinery/json.ts';
import { builtIn, type Kind, kinds } from '../../apimachinery/kinds.ts';
import { type ControllerDeps, follow, systemContext } from './controllers.ts';
import { namespaceConditions, type NamespaceRemains, nothingRemains } from './namespace-conditions.ts';

/** Returns one kind for each storage: the versions of a kind share their objects. */
const onePerStorage = (all: readonly Kind[]): readonly Kind[] => [
  ...new Map(all.map((kind) => [kind.storage, kind])).values(),
];

const pods = builtIn('pods');
/** Namespaced kinds besides pods; Events are deleted in one of their two groups. */
const namespaced = kinds.filter(
  (kind) =>
    kind.namespaced &&
    kind.storageHash !== undefined &&
    kind.group !== 'events.k8s.io' &&
    kind.storage !== pods.storage,
);

const isTerminating = (object: JsonObject): boolean =>
  valueAt(object, 'metadata', 'deletionTimestamp') !== undefined;

const count = (counts: Map<string, number>, key: string): void => {
  counts.set(key, (counts.get(key) ?? 0) + 1);
};

/** Returns for how many ms pods of a namespace may still end by themselves. */
function graceLeft(namespace: JsonObject, all: readonly JsonObject[], now: number): number {
  const graces = all
    .filter((pod) => !['Succeeded', 'Failed'].includes(String(valueAt(pod, 'status', 'phase'))))
    .map((pod) => Number(valueAt(pod, 'spec', 'terminationGracePeriodSeconds') ?? 0));
  const since = Date.parse(String(valueAt(namespace, 'metadata', 'deletionTimestamp')));
  return Math.max(0, since + Math.max(0, ...graces) * 1000 - now);
}

/**
 * NamespaceController deletes the content of terminating namespaces, the pods first, and removes a namespace when it is empty. Its conditions
 * say what is left (`namespacedResourcesDeleter`).
 */
class NamespaceController {
  readonly #deps: ControllerDeps;
  readonly #timers = new Map<string, StopTimer>();

  constructor(deps: ControllerDeps) {
    this.#deps = deps;
  }

  start(): () => void {
    const { store } = this.#deps.world;
    const stopOwn = follow(store, 'namespaces', (namespace) => {
      if (listAt(specOf(namespace), 'finalizers').includes('kubernetes')) this.#sweep(nameOf(namespace));
    });
    const stopRest = store.onChange((storage, changes) => {
      if (storage === 'namespaces') return;
      const names = changes
        .filter(({ type, entry }) => type === 'DELETED' && entry.key.includes('/'))
        .map(({ entry }) => entry.key.split('/')[0] ?? '');
      for (const name of new Set(names)) this.#sweep(name);
    });
    return () => {
      stopOwn();
      stopRest();
      for (const stop of this.#timers.values()) stop();
    };
  }

  #sweep(name: string): void {
    const { store } = this.#deps.world;
    const entry = store.get('namespaces', name);
    this.#timers.get(name)?.();
    this.#timers.delete(name);
    if (!entry || !isTerminating(entry.object)) return;
    const [remains, isEmpty] = this.#deleteContent(entry.object);
    this.#report(name, remains);
    if (isEmpty) this.#finish(name);
  }

  /** Deletes what a namespace holds. @returns what the conditions say, and whether nothing is left */
  #deleteContent(namespace: JsonObject): readonly [NamespaceRemains, boolean] {
    const { world, clock, resources } = this.#deps;
    const name = nameOf(namespace);
    const podErrors = this.#deleteAll(pods, name);
    const left = [...world.store.list(pods.storage, `${name}/`)].map(({ object }) => object);
    if (left.length > 0) {
      // the rest stays for the pods; what remains is reported once they are gone
      const waitMs = graceLeft(namespace, left, clock.now());
      if (waitMs > 0)
        this.#timers.set(
          name,
          clock.timer(waitMs + 1000, () => {
            this.#sweep(name);
          }),
        );
      const hasFinalizers = left.some((pod) => listAt(metadataOf(pod), 'finalizers').length > 0);
      const stuck = `unexpected items still remain in namespace: ${name} for gvr: /v1, Resource=pods`;
      const errors = waitMs > 0 || hasFinalizers || podErrors.length > 0 ? podErrors : [stuck];
      return [{ ...nothingRemains, errors }, false];
    }
    const custom = onePerStorage(resources.customKinds.filter((kind) => kind.namespaced));
    const remains = { resources: new Map<string, number>(), finalizers: new Map<string, number>() };
    const errors = [...podErrors];
    for (const kind of [...namespaced, ...custom]) {
      errors.push(...this.#deleteAll(kind, name));
      for (const { object } of world.store.list(kind.storage, `${name}/`)) {
        count(remains.resources, `${kind.resource}.${kind.group}`);
        for (const finalizer of listAt(metadataOf(object), 'finalizers'))
          count(remains.finalizers, String(finalizer));
      }
    }
    return [{ ...remains, errors }, remains.resources.size === 0 && errors.length === 0];
  }

  #deleteAll(kind: Kind, namespace: string): readonly string[] {
    const { world, resources } = this.#deps;
    const registry = resources.registry(kind);
    const errors: string[] = [];
    for (const { object } of [...world.store.list(kind.storage, `${namespace}/`)])
      try {
        registry.delete(namespace, nameOf(object), { propagation: 'Background' }, systemContext(world));
      } catch (reason) {
        errors.push(messageOf(reason));
      }
    return errors;
  }

  #report(name: string, remains: NamespaceRemains): void {
    const { world, clock, resources } = this.#deps;
    const namespace = world.store.get('namespaces', name)?.object;
    const conditions = namespace && namespaceConditions(namespace, remains, clock.now());
    if (!conditions) return;
    const writer = {
      manager: 'kube-controller-manager',
      operation: 'Update',
      apiVersion: 'v1',
      subresource: 'status',
    } as const;
    const place = { namespace: '', name, subresource: 'status' };
    resources
      .registry(builtIn('namespaces'))
      .update(
        place,
        (standing) => ({ ...standing, status: { ...statusOf(standing), conditions } }),
        writer,
        systemContext(world),
      );
  }

  /** Takes the finalizer off, and removes the namespace when it was the last. */
  #finish(name: string): void {
    const { store } = this.#deps.world;
    const namespace = store.get('namespaces', name)?.object;
    if (!namespace) return;
    const finalizers = listAt(specOf(namespace), 'finalizers').filter((one) => one !== 'kubernetes');
    if (finalizers.length > 0 || listAt(metadataOf(namespace), 'finalizers').length > 0)
      store.put('namespaces', { ...namespace, spec: { finalizers } });
    else store.delete('namespaces', name);
  }
}

/** Deletes the content of terminating namespaces, and removes those that are empty. @returns what ends it */
export const emptyNamespaces = (deps: ControllerDeps): (() => void) => new NamespaceController(deps).start();
