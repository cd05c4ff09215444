import {
  type Faults,
  invalid,
  required,
  tooLong,
  unsupported,
} from '../../../kube/validation/field-error.ts';
import { isObject, type JsonObject, objectAt, specOf, stringAt } from '../../../apimachinery/json.ts';
import { ownMember } from '../../../base/own.ts';
import { templateDefaults, templateFaults, templateWarnings } from '../core/pod-template-rules.ts';
import { domainPrefixedPath } from '../validation/path-rules.ts';
import { nonNegatives, numberAt } from '../validation/value-rules.ts';
import { podFailurePolicy, podReplacementPolicy, successPolicy } from './job-policies.ts';

const most = {
  parallelism: 100_000,
  failedIndexes: 100_000,
  /** From so many completions on, the limits are lower. */
  completions: 100_000,
  whenMany: 10_000,
  managedBy: 63,
} as const;

/** Sets the defaults that jobs and the templates of cron jobs share in their patterns and pod template. */
export function jobTemplateDefaults(spec: JsonObject): JsonObject {
  const policy = spec['podFailurePolicy'];
  return {
    ...spec,
    ...(isObject(policy) && { podFailurePolicy: policyDefaults(policy) }),
    template: templateDefaults(objectAt(spec, 'template')),
  };
}

/** Sets the default status of conditions that a pod failure policy names. */
function policyDefaults(policy: JsonObject): JsonObject {
  const rules = policy['rules'];
  if (!Array.isArray(rules)) return policy;
  return {
    ...policy,
    rules: (rules as readonly JsonObject[]).map((rule) => {
      const patterns = rule['onPodConditions'];
      if (!Array.isArray(patterns)) return rule;
      return {
        ...rule,
        onPodConditions: (patterns as readonly JsonObject[]).map((pattern) => ({
          ...pattern,
          status: stringAt(pattern, 'status') || 'True',
        })),
      };
    }),
  };
}

const atMost = (limit: number): string => `must be less than or equal to ${limit}`;
const whenMany = `${atMost(most.whenMany)} when completions are above ${most.completions} and used with backoff limit per index`;

/** Validates the limits of an indexed job. */
function* indexedLimits(field: string, spec: JsonObject): Faults {
  const completions = numberAt(spec, 'completions');
  const parallelism = numberAt(spec, 'parallelism', 0);
  if (completions === undefined) yield required(`${field}.completions`, 'when completion mode is Indexed');
  if (parallelism > most.parallelism)
    yield invalid(
      `${field}.parallelism`,
      parallelism,
      `${atMost(most.parallelism)} when completion mode is Indexed`,
    );
  yield* failedIndexes(`${field}.maxFailedIndexes`, spec);
  if (numberAt(spec, 'completions', 0) > most.completions && spec['backoffLimitPerIndex'] !== undefined)
    yield* manyIndexes(field, spec);
}

function* failedIndexes(field: string, spec: JsonObject): Faults {
  const failed = numberAt(spec, 'maxFailedIndexes', 0);
  const completions = numberAt(spec, 'completions', Infinity);
  if (failed > completions) yield invalid(field, failed, 'must be less than or equal to completions');
  if (failed > most.failedIndexes) yield invalid(field, failed, atMost(most.failedIndexes));
}

/** Validates the limits of an indexed job with very many completions. */
function* manyIndexes(field: string, spec: JsonObject): Faults {
  const [parallelism, failed] = [numberAt(spec, 'parallelism', 0), numberAt(spec, 'maxFailedIndexes')];
  if (failed === undefined)
    yield required(
      `${field}.maxFailedIndexes`,
      `must be specified when completions is above ${most.completions}`,
    );
  if (parallelism > most.whenMany) yield invalid(`${field}.parallelism`, parallelism, whenMany);
  if (failed !== undefined && failed > most.whenMany)
    yield invalid(`${field}.maxFailedIndexes`, failed, whenMany);
}

const onlyIndexed = ['backoffLimitPerIndex', 'maxFailedIndexes'];

function* completionMode(field: string, spec: JsonObject): Faults {
  const mode = spec['completionMode'];
  if (mode !== undefined && mode !== 'NonIndexed' && mode !== 'Indexed')
    yield unsupported(`${field}.completionMode`, mode, ['NonIndexed', 'Indexed']);
  if (mode === 'Indexed') yield* indexedLimits(field, spec);
  if (mode !== undefined && mode !== 'NonIndexed') return;
  for (const key of onlyIndexed) {
    const value = ownMember(spec, key);
    if (value !== undefined) yield invalid(`${field}.${key}`, value, 'requires indexed completion mode');
  }
}

function* manager(field: string, name: unknown): Faults {
  if (typeof name !== 'string') return;
  yield* domainPrefixedPath(field, name);
  if (Buffer.byteLength(name) > most.managedBy) yield tooLong(field, most.managedBy);
}

function* restartPolicy(field: string, spec: JsonObject): Faults {
  const policy = stringAt(specOf(objectAt(spec, 'template')), 'restartPolicy');
  if (policy === 'Always' || policy === '') yield required(field, 'valid values: "OnFailure", "Never"');
  else if (policy !== 'OnFailure' && policy !== 'Never')
    yield unsupported(field, policy, ['OnFailure', 'Never']);
  else if (spec['podFailurePolicy'] !== undefined && policy !== 'Never')
    yield invalid(field, policy, 'only "Never" is supported when podFailurePolicy is specified');
}

/** Validates what jobs and the templates of cron jobs share. Follows Kubernetes `validateJobSpec` (pkg/apis/batch/validation, v1.36). */
export function* jobSpecFaults(field: string, spec: JsonObject): Faults {
  yield* nonNegatives(
    field,
    spec,
    'parallelism',
    'completions',
    'activeDeadlineSeconds',
    'backoffLimit',
    'ttlSecondsAfterFinished',
    ...onlyIndexed,
  );
  if (spec['maxFailedIndexes'] !== undefined && spec['backoffLimitPerIndex'] === undefined)
    yield required(`${field}.backoffLimitPerIndex`, 'when maxFailedIndexes is specified');
  yield* manager(`${field}.managedBy`, spec['managedBy']);
  yield* completionMode(field, spec);
  if (isObject(spec['podFailurePolicy'])) yield* podFailurePolicy(`${field}.podFailurePolicy`, spec);
  if (isObject(spec['successPolicy'])) yield* successPolicy(`${field}.successPolicy`, spec);
  yield* podReplacementPolicy(`${field}.podReplacementPolicy`, spec);
  yield* templateFaults(`${field}.template`, objectAt(spec, 'template'));
  yield* restartPolicy(`${field}.template.spec.restartPolicy`, spec);
}

const hugeIndexed =
  'In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher than 10^4, Kubernetes might not be able to track completedIndexes when a big number of indexes fail';

/** Returns warnings about a job's spec. */
export function jobWarnings(field: string, spec: JsonObject): readonly string[] {
  const huge =
    spec['completionMode'] === 'Indexed' &&
    numberAt(spec, 'completions', 0) > most.completions &&
    numberAt(spec, 'parallelism', 0) > most.whenMany;
  return [
    ...(huge ? [`${field}: ${hugeIndexed}`] : []),
    ...templateWarnings(`${field}.template`, objectAt(spec, 'template')),
  ];
}
