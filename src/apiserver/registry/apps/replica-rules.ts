import { type Faults, forbidden, invalid, unsupported } from '../../../kube/validation/field-error.ts';
import { type JsonObject, objectAt, specOf, statusOf, stringAt } from '../../../apimachinery/json.ts';
import { templateFaults } from '../core/pod-template-rules.ts';
import { isUsableSelector, selectorMatchesTemplate, shownSelector } from '../validation/selector-rules.ts';
import { nonNegatives, numberAt } from '../validation/value-rules.ts';

/** Validates that pods of a workload run for ever. @param what the kind in the message */
export function* alwaysRunning(field: string, template: JsonObject, what: string): Faults {
  const { restartPolicy, activeDeadlineSeconds } = specOf(template);
  if (restartPolicy !== 'Always')
    yield unsupported(`${field}.spec.restartPolicy`, restartPolicy ?? '', ['Always']);
  if (activeDeadlineSeconds !== undefined)
    yield forbidden(
      `${field}.spec.activeDeadlineSeconds`,
      `activeDeadlineSeconds in ${what} is not Supported`,
    );
}

/** Validates the template of a replica set or deployment, unless its selector cannot be evaluated. */
export function* replicaTemplate(field: string, spec: JsonObject): Faults {
  const { selector } = spec;
  if (!isUsableSelector(selector)) {
    yield invalid(`${field}.selector`, shownSelector(selector), 'invalid label selector');
    return;
  }
  const template = objectAt(spec, 'template');
  yield* selectorMatchesTemplate(`${field}.template`, selector, template);
  yield* templateFaults(`${field}.template`, template);
  yield* alwaysRunning(`${field}.template`, template, 'ReplicaSet');
}

/** Rules of a status that counts replicas. */
export interface ReplicaCounts {
  /** Counts that may not be negative. */
  readonly all: readonly string[];
  /** Counts that may not exceed `replicas`. */
  readonly within: readonly string[];
  /** What the available replicas may not exceed, in the message. */
  readonly ready: string;
}

/** Validates the counts of a status. */
export function* replicaCounts(object: JsonObject, { all, within, ready }: ReplicaCounts): Faults {
  const status = statusOf(object);
  const count = (key: string): number => numberAt(status, key, 0);
  yield* nonNegatives('status', status, ...all);
  for (const key of within)
    if (count(key) > count('replicas'))
      yield invalid(`status.${key}`, count(key), 'cannot be greater than status.replicas');
  if (count('availableReplicas') > count('readyReplicas'))
    yield invalid('status.availableReplicas', count('availableReplicas'), `cannot be greater than ${ready}`);
}

/** Validates that the count of hash collisions does not decrease. */
export function* collisions(object: JsonObject, old: JsonObject): Faults {
  const [now, before] = [object, old].map((one) => numberAt(statusOf(one), 'collisionCount')) as [
    number | undefined,
    number | undefined,
  ];
  if (before !== undefined && (now ?? 0) < before)
    yield invalid('status.collisionCount', now ?? 0, 'cannot be decremented');
}

/** Returns a text member, or the fallback when it is empty. */
export const textOr = (object: JsonObject, key: string, fallback: string): string =>
  stringAt(object, key) || fallback;
