import { type JsonObject, listAt, objectAt, objectsAt } from '../apimachinery/json.ts';
import type { KubeObject } from '../kube/types.ts';
import type { ContainerRef } from '../provider/refs.ts';

/** The container that an object of kwok is looked up for. */
export type Target = Pick<ContainerRef, 'namespace' | 'pod' | 'container'>;

/** Returns the specs of a kind that are for a pod: of the object of its own name first, then of those for the whole cluster. */
export function specsFor(
  objects: readonly KubeObject[],
  kind: string,
  { namespace, pod }: Pick<Target, 'namespace' | 'pod'>,
): readonly JsonObject[] {
  const all = objects as readonly (KubeObject & JsonObject)[];
  const own = all.filter(
    (one) =>
      one.kind === kind && one.metadata?.name === pod && (one.metadata.namespace ?? 'default') === namespace,
  );
  const general = all.filter((one) => {
    if (one.kind !== `Cluster${kind}`) return false;
    const selector = objectAt(objectAt(one, 'spec'), 'selector');
    const fits = (key: string, value: string): boolean =>
      listAt(selector, key).length === 0 || listAt(selector, key).includes(value);
    return fits('matchNamespaces', namespace) && fits('matchNames', pod);
  });
  return [...own, ...general].map((one) => objectAt(one, 'spec'));
}

/** Returns the entry that is for a container: of the first spec that has one, the entry that names the container, or one that names none. */
export function entryFor(
  specs: readonly JsonObject[],
  list: string,
  container: string,
): JsonObject | undefined {
  for (const spec of specs) {
    const entries = objectsAt(spec, list);
    const named = entries.find((entry) => listAt(entry, 'containers').includes(container));
    const entry = named ?? entries.find((one) => listAt(one, 'containers').length === 0);
    if (entry) return entry;
  }
  return undefined;
}
