import { compareQuantities, type Quantity, zeroQuantity } from '../kube/resources/quantity.ts';
import { amountsOf, type ResourceList } from '../kube/resources/resources.ts';
import { isRestartableInitContainer } from '../kube/restart-policy.ts';
import type { Container, Pod } from '../kube/types.ts';

/** One amount of one container that is to change, as metrics label it. */
export interface RequestedResize extends Readonly<Record<string, string>> {
  readonly resource: 'cpu' | 'memory';
  readonly requirement: 'requests' | 'limits';
  readonly operation: 'add' | 'remove' | 'increase' | 'decrease';
}

const requirements = ['requests', 'limits'] as const;
const resources = ['memory', 'cpu'] as const;

/** What differs between two versions of a pod in the amounts of containers that can be resized. Follows kubelet `recordContainerResizeOperations`. */
export function requestedResizes(old: Pod, next: Pod): readonly RequestedResize[] {
  if (old.spec === next.spec) return [];
  const before = new Map(resizable(old).map((one) => [one.name, one]));
  return resizable(next).flatMap(({ name, resources: wanted }) => {
    const had = before.get(name)?.resources;
    if (!before.has(name) || had === wanted) return [];
    return requirements.flatMap((requirement) =>
      changes(had?.[requirement], wanted?.[requirement]).map((change) => ({ ...change, requirement })),
    );
  });
}

function changes(
  had: ResourceList | undefined,
  wants: ResourceList | undefined,
): readonly Pick<RequestedResize, 'resource' | 'operation'>[] {
  const [before, after] = [amountsOf(had), amountsOf(wants)];
  return resources.flatMap((resource) => {
    const [old, next] = [before[resource] ?? zeroQuantity, after[resource] ?? zeroQuantity];
    const operation = operationOf(old, next);
    return operation ? [{ resource, operation }] : [];
  });
}

function operationOf(old: Quantity, next: Quantity): RequestedResize['operation'] | undefined {
  const difference = compareQuantities(next, old);
  if (difference === 0) return undefined;
  if (compareQuantities(next, zeroQuantity) === 0) return 'remove';
  if (compareQuantities(old, zeroQuantity) === 0) return 'add';
  return difference < 0 ? 'decrease' : 'increase';
}

const resizable = ({ spec }: Pod): readonly Container[] => [
  ...(spec?.containers ?? []),
  ...(spec?.initContainers ?? []).filter(isRestartableInitContainer),
];
