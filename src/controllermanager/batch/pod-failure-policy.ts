import { nameOf, namespaceOf } from '../workload/objects.ts';
import type { Job, Pod } from '../workload/types.ts';

type Policy = NonNullable<NonNullable<Job['spec']>['podFailurePolicy']>;
type Rule = Policy['rules'][number];
type ContainerStatus = NonNullable<NonNullable<Pod['status']>['containerStatuses']>[number];

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

function exitMatch(requirement: NonNullable<Rule['onExitCodes']>, pod: Pod): string | undefined {
  const statuses = [...(pod.status?.containerStatuses ?? []), ...(pod.status?.initContainerStatuses ?? [])];
  const status = statuses.find((one) => hasExitedSo(one, requirement));
  if (!status) return undefined;
  const code = status.state?.terminated?.exitCode ?? 0;
  return `Container ${status.name} for pod ${namespaceOf(pod)}/${nameOf(pod)} failed with exit code ${code}`;
}

/** True for a container that has failed with a code that the requirement names. */
function hasExitedSo(
  { name, state }: ContainerStatus,
  { containerName, operator, values }: NonNullable<Rule['onExitCodes']>,
): boolean {
  const code = state?.terminated?.exitCode ?? 0;
  if (code === 0 || (containerName !== undefined && containerName !== name)) return false;
  return values.includes(code) === (operator === 'In');
}

function conditionMatch({ onPodConditions = [] }: Rule, pod: Pod): string | undefined {
  const match = pod.status?.conditions?.find((condition) =>
    onPodConditions.some(
      ({ type, status = 'True' }) => condition.type === type && condition.status === status,
    ),
  );
  return match && `Pod ${namespaceOf(pod)}/${nameOf(pod)} has condition ${match.type}`;
}
