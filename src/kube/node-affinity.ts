import { ownMember, tableOf } from '../base/own.ts';
import type { Node, Pod, PodSpec } from './types.ts';
import { labelValueRule, qualifiedNameRule } from './validation/name-rules.ts';

type Affinity = NonNullable<PodSpec['affinity']>;
type NodeAffinity = NonNullable<Affinity['nodeAffinity']>;
type Term = NonNullable<
  NodeAffinity['requiredDuringSchedulingIgnoredDuringExecution']
>['nodeSelectorTerms'][number];
type Requirement = NonNullable<Term['matchExpressions']>[number];

/** Parses a 64-bit integer like Go's `ParseInt`. */
function integer(text: string | undefined): bigint | undefined {
  if (text === undefined || !/^[+-]?\d+$/.test(text)) return undefined;
  const value = BigInt(text.replace(/^\+/, ''));
  return BigInt.asIntN(64, value) === value ? value : undefined;
}

function compare(value: string | undefined, { operator, values }: Requirement): boolean {
  const [left, right] = [integer(value), integer(values?.[0])];
  if (left === undefined || right === undefined) return false;
  return operator === 'Gt' ? left > right : left < right;
}

/** True when a label value satisfies one requirement; an absent value satisfies only `NotIn` and `DoesNotExist`. */
function satisfies(value: string | undefined, requirement: Requirement): boolean {
  const { operator, values = [] } = requirement;
  switch (operator) {
    case 'In':
      return value !== undefined && values.includes(value);
    case 'NotIn':
      return value === undefined || !values.includes(value);
    case 'Exists':
      return value !== undefined;
    case 'DoesNotExist':
      return value === undefined;
    default:
      return compare(value, requirement);
  }
}

const one = (values: readonly string[]): boolean => values.length === 1;

/** Checks the number and kind of values of each operator. */
const valuesOf: Readonly<Record<string, (values: readonly string[]) => boolean>> = tableOf({
  In: (values) => values.length > 0,
  NotIn: (values) => values.length > 0,
  Exists: (values) => values.length === 0,
  DoesNotExist: (values) => values.length === 0,
  Gt: (values) => one(values) && integer(values[0]) !== undefined,
  Lt: (values) => one(values) && integer(values[0]) !== undefined,
});

const isLabelRequirement = ({ key, operator, values = [] }: Requirement): boolean =>
  (valuesOf[operator]?.(values) ?? false) &&
  qualifiedNameRule(key).length === 0 &&
  values.every((value) => labelValueRule(value).length === 0);

const isFieldRequirement = ({ operator, values = [] }: Requirement): boolean =>
  (operator === 'In' || operator === 'NotIn') && one(values);

/** True when all requirements of a term are satisfied; false without any requirement, or with an invalid one. */
function termMatches({ matchExpressions = [], matchFields = [] }: Term, node: Node): boolean {
  if (matchExpressions.length === 0 && matchFields.length === 0) return false;
  if (!matchExpressions.every(isLabelRequirement) || !matchFields.every(isFieldRequirement)) return false;
  const { labels = {}, name } = node.metadata ?? {};
  return (
    matchExpressions.every((requirement) => satisfies(ownMember(labels, requirement.key), requirement)) &&
    matchFields.every((requirement) =>
      satisfies(requirement.key === 'metadata.name' ? name : '', requirement),
    )
  );
}

/** True when the node satisfies the pod's nodeSelector and required node affinity. Follows `nodeaffinity.GetRequiredNodeAffinity`. */
export function matchesNodeAffinity(pod: Pod, node: Node): boolean {
  const labels = node.metadata?.labels ?? {};
  const selected = Object.entries(pod.spec?.nodeSelector ?? {}).every(
    ([key, value]) => ownMember(labels, key) === value,
  );
  const required = pod.spec?.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  return selected && (!required || required.nodeSelectorTerms.some((term) => termMatches(term, node)));
}
