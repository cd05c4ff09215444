import type { Node, Pod, PodSpec } from './types.ts';

type Affinity = NonNullable<PodSpec['affinity']>;
type NodeAffinity = NonNullable<Affinity['nodeAffinity']>;
type Term = NonNullable<
  NodeAffinity['requiredDuringSchedulingIgnoredDuringExecution']
>['nodeSelectorTerms'][number];
type Requirement = NonNullable<Term['matchExpressions']>[number];

const integer = (text: string | undefined): bigint | undefined =>
  text !== undefined && /^[+-]?\d+$/.test(text) ? BigInt(text) : undefined;

function compare(value: string | undefined, { operator, values }: Requirement): boolean {
  const [left, right] = [integer(value), integer(values?.[0])];
  if (left === undefined || right === undefined || values?.length !== 1) return false;
  return operator === 'Gt' ? left > right : left < right;
}

/** Does a value satisfy one requirement? An absent value satisfies only `NotIn` and `DoesNotExist`; `NotIn` nothing is none. */
function satisfies(value: string | undefined, requirement: Requirement): boolean {
  const { operator, values = [] } = requirement;
  switch (operator) {
    case 'In':
      return value !== undefined && values.includes(value);
    case 'NotIn':
      return values.length > 0 && (value === undefined || !values.includes(value));
    case 'Exists':
      return value !== undefined;
    case 'DoesNotExist':
      return value === undefined;
    case 'Gt':
    case 'Lt':
      return compare(value, requirement);
    default:
      return false;
  }
}

/** A term holds when all its requirements hold; a term without any never holds. */
function termMatches({ matchExpressions = [], matchFields = [] }: Term, node: Node): boolean {
  if (matchExpressions.length === 0 && matchFields.length === 0) return false;
  const labels = node.metadata?.labels ?? {};
  const fields: Readonly<Record<string, string | undefined>> = { 'metadata.name': node.metadata?.name };
  return (
    matchExpressions.every((requirement) => satisfies(labels[requirement.key], requirement)) &&
    matchFields.every((requirement) => satisfies(fields[requirement.key], requirement))
  );
}

/** Does the node have what the pod's nodeSelector and required node affinity ask for? Follows `nodeaffinity.GetRequiredNodeAffinity`. */
export function matchesNodeAffinity(pod: Pod, node: Node): boolean {
  const labels = node.metadata?.labels ?? {};
  const selected = Object.entries(pod.spec?.nodeSelector ?? {}).every(
    ([key, value]) => labels[key] === value,
  );
  const required = pod.spec?.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  return selected && (!required || required.nodeSelectorTerms.some((term) => termMatches(term, node)));
}
