import { type JsonObject, objectsAt, statusOf } from '../../apimachinery/json.ts';
import { seconds } from '../../apimachinery/times.ts';

/** What is left of the content of a namespace, and what could not be deleted. */
export interface NamespaceRemains {
  /** Objects by resource, as `pods.` or `deployments.apps`. */
  readonly resources: ReadonlyMap<string, number>;
  /** Objects by their finalizers. */
  readonly finalizers: ReadonlyMap<string, number>;
  readonly errors: readonly string[];
}

export const nothingRemains: NamespaceRemains = { resources: new Map(), finalizers: new Map(), errors: [] };

interface Text {
  readonly reason: string;
  readonly message: string;
}

/** The conditions of a terminating namespace in their order, as they are when there is no trouble. */
const fine: readonly (Text & { readonly type: string })[] = [
  {
    type: 'NamespaceDeletionDiscoveryFailure',
    reason: 'ResourcesDiscovered',
    message: 'All resources successfully discovered',
  },
  {
    type: 'NamespaceDeletionGroupVersionParsingFailure',
    reason: 'ParsedGroupVersions',
    message: 'All legacy kube types successfully parsed',
  },
  {
    type: 'NamespaceDeletionContentFailure',
    reason: 'ContentDeleted',
    message: 'All content successfully deleted, may be waiting on finalization',
  },
  {
    type: 'NamespaceContentRemaining',
    reason: 'ContentRemoved',
    message: 'All content successfully removed',
  },
  {
    type: 'NamespaceFinalizersRemaining',
    reason: 'ContentHasNoFinalizers',
    message: 'All content-preserving finalizers finished',
  },
];

const listed = (counts: ReadonlyMap<string, number>, verb: string): string =>
  [...counts]
    .map(([name, count]) => `${name} ${verb} ${count} resource instances`)
    .sort()
    .join(', ');

/** Returns the conditions of what is wrong, by type. */
function troubles({ resources, finalizers, errors }: NamespaceRemains): ReadonlyMap<string, Text> {
  const found = new Map<string, Text>();
  if (errors.length > 0)
    found.set('NamespaceDeletionContentFailure', {
      reason: 'ContentDeletionFailed',
      message: `Failed to delete all resource types, ${errors.length} remaining: ${[...errors].sort().join(', ')}`,
    });
  if (resources.size > 0)
    found.set('NamespaceContentRemaining', {
      reason: 'SomeResourcesRemain',
      message: `Some resources are remaining: ${listed(resources, 'has')}`,
    });
  if (finalizers.size > 0)
    found.set('NamespaceFinalizersRemaining', {
      reason: 'SomeFinalizersRemain',
      message: `Some content in the namespace has finalizers remaining: ${listed(finalizers, 'in')}`,
    });
  return found;
}

/** Returns the conditions of a terminating namespace; undefined: they are so already. */
export function namespaceConditions(
  namespace: JsonObject,
  remains: NamespaceRemains,
  now: number,
): readonly JsonObject[] | undefined {
  const conditions = [...objectsAt(statusOf(namespace), 'conditions')];
  const found = troubles(remains);
  let isChanged = false;
  for (const { type, ...text } of fine) {
    const trouble = found.get(type);
    const next = { type, status: trouble ? 'True' : 'False', ...(trouble ?? text) };
    const at = conditions.findIndex((one) => one['type'] === type);
    const before = conditions[at];
    const isSame = (['status', 'reason', 'message'] as const).every((key) => before?.[key] === next[key]);
    if (isSame) continue;
    isChanged = true;
    const since = before?.['status'] === next.status ? before['lastTransitionTime'] : undefined;
    const condition = { ...next, lastTransitionTime: since ?? seconds(now) };
    if (at < 0) conditions.push(condition);
    else conditions[at] = condition;
  }
  return isChanged ? conditions : undefined;
}
