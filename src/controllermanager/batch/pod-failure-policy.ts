import { nameOf, namespaceOf } from '../workload/objects.ts';
import type { Job, Pod } from '../workload/types.ts';

type Policy = NonNullable<NonNullable<Job['spec']>['podFailurePolicy']>;
type Rule = Policy['rules'][number];

/** The rule that a failed pod matches. */
export interface PolicyMatch {
  readonly action: string;
  readonly message: string;
}

/** Returns the first rule that a failed pod matches; undefined: the failure counts as any other. */
export function matchFailurePolicy(policy: Policy | undefined, pod: Pod): PolicyMatch | undefined {
  for (const [index, rule] of (policy?.rules ?? []).entries()) {
    const what = rule.onExitCodes ? exitMatch(rule.onExitCodes, pod) : conditionMatch(rule, pod);
    if (what === undefined) continue;
    return { action: rule.action, message: `${what} matching ${rule.action} rule at index ${index}` };
  }
  return undefined;
}

// eslint-disable-next-line complexity -- the conditions of one container in their order
function exitMatch(wanted: NonNullable<Rule['onExitCodes']>, pod: Pod): string | undefined {
  const { containerName, operator, values } = wanted;
  const all = [...(pod.status?.containerStatuses ?? []), ...(pod.status?.initContainerStatuses ?? [])];
  for (const { name, state } of all) {
    const code = state?.terminated?.exitCode;
    if (code === undefined || code === 0 || (containerName !== undefined && containerName !== name)) continue;
    if (values.includes(code) === (operator === 'In'))
      return `Container ${name} for pod ${namespaceOf(pod)}/${nameOf(pod)} failed with exit code ${code}`;
  }
  return undefined;
}

function conditionMatch({ onPodConditions = [] }: Rule, pod: Pod): string | undefined {
  const found = onPodConditions.find(({ type, status = 'True' }) =>
    pod.status?.conditions?.some((condition) => condition.type === type && condition.status === status),
  );
  return found && `Pod ${namespaceOf(pod)}/${nameOf(pod)} has condition ${found.type}`;
}
