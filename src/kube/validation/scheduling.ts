import type { PodSpec, Toleration } from '../types.ts';
import { duplicate, type Faults, invalid, invalidEach, oneOf, required, unsupported } from './field-error.ts';
import { matchKeys } from './affinity.ts';
import { labelValueRule, qualifiedNameRule } from './name-rules.ts';
import type { PodValidationOptions } from './options.ts';
import { labelName, labelSelector } from './shared.ts';

type Constraint = NonNullable<PodSpec['topologySpreadConstraints']>[number];

/** Validates tolerations. */
export function* validateTolerations(
  field: string,
  tolerations: readonly Toleration[],
  options: PodValidationOptions,
): Faults {
  for (const [i, toleration] of tolerations.entries()) {
    const at = `${field}[${i}]`;
    const { key = '', operator = '', effect = '' } = toleration;
    if (key !== '') yield* labelName(`${at}.key`, key);
    else if (operator !== 'Exists')
      yield invalid(
        `${at}.operator`,
        operator,
        'operator must be Exists when `key` is empty, which means "match all values and all keys"',
      );
    if (toleration.tolerationSeconds !== undefined && effect !== 'NoExecute')
      yield invalid(`${at}.effect`, effect, "effect must be 'NoExecute' when `tolerationSeconds` is set");
    yield* operatorFaults(`${at}.operator`, toleration, options);
    if (effect !== '') yield* oneOf(`${at}.effect`, effect, ['NoSchedule', 'PreferNoSchedule', 'NoExecute']);
  }
}

function* operatorFaults(
  field: string,
  { operator = '', value = '' }: Toleration,
  options: PodValidationOptions,
): Faults {
  if (operator === '' || operator === 'Equal') {
    const faults = labelValueRule(value);
    if (faults.length > 0) yield invalid(field, value, faults.join(';'));
  } else if (operator === 'Exists') {
    if (value !== '') yield invalid(field, value, "value must be empty when `operator` is 'Exists'");
  } else if (operator === 'Lt' || operator === 'Gt') yield* comparison(field, operator, value, options);
  else yield unsupported(field, operator, ['Equal', 'Exists']);
}

function* comparison(field: string, operator: string, value: string, options: PodValidationOptions): Faults {
  if (!(options.taintComparison ?? false))
    yield unsupported(field, operator, ['Equal', 'Exists', 'Lt', 'Gt']);
  else if (!/^(0|-?[1-9][0-9]*)$/.test(value))
    yield invalid(field, value, 'value must be a valid integer for numeric operators');
}

/** Validates topology spread constraints. */
export function* validateTopologySpread(field: string, constraints: readonly Constraint[]): Faults {
  for (const [i, constraint] of constraints.entries()) {
    const at = `${field}[${i}]`;
    const { maxSkew = 0, topologyKey = '', whenUnsatisfiable = '' } = constraint as Partial<Constraint>;
    if (maxSkew <= 0) yield invalid(`${at}.maxSkew`, maxSkew, 'must be greater than zero');
    if (topologyKey === '') yield required(`${at}.topologyKey`, 'can not be empty');
    yield* oneOf(`${at}.whenUnsatisfiable`, whenUnsatisfiable, ['DoNotSchedule', 'ScheduleAnyway']);
    const again = constraints
      .slice(i + 1)
      .some((other) => other.topologyKey === topologyKey && other.whenUnsatisfiable === whenUnsatisfiable);
    if (again)
      yield duplicate(`${at}.{topologyKey, whenUnsatisfiable}`, `{${topologyKey}, ${whenUnsatisfiable}}`);
    yield* minDomains(`${at}.minDomains`, constraint);
    for (const key of ['nodeAffinityPolicy', 'nodeTaintsPolicy'] as const)
      if (constraint[key] !== undefined) yield* oneOf(`${at}.${key}`, constraint[key], ['Honor', 'Ignore']);
    yield* matchKeys(at, constraint);
    yield* labelSelector(`${at}.labelSelector`, constraint.labelSelector);
  }
}

function* minDomains(
  field: string,
  { minDomains: least, whenUnsatisfiable = '' }: Partial<Constraint>,
): Faults {
  if (least === undefined) return;
  if (least <= 0) yield invalid(field, least, 'must be greater than zero');
  if (whenUnsatisfiable !== 'DoNotSchedule')
    yield invalid(
      field,
      least,
      `can only use minDomains if whenUnsatisfiable=DoNotSchedule, not ${whenUnsatisfiable}`,
    );
}

/** Validates readiness gates. */
export function* validateReadinessGates(
  field: string,
  gates: NonNullable<PodSpec['readinessGates']>,
): Faults {
  for (const [i, gate] of gates.entries()) {
    const type = (gate as Partial<typeof gate>).conditionType ?? '';
    yield* invalidEach(`${field}[${i}].conditionType`, type, qualifiedNameRule(type));
  }
}

/** Validates scheduling gates. */
export function* validateSchedulingGates(
  field: string,
  gates: NonNullable<PodSpec['schedulingGates']>,
): Faults {
  const seen = new Set<string>();
  for (const [i, gate] of gates.entries()) {
    const name = (gate as Partial<typeof gate>).name ?? '';
    yield* invalidEach(`${field}[${i}]`, name, qualifiedNameRule(name));
    if (seen.has(name)) yield duplicate(`${field}[${i}]`, name);
    seen.add(name);
  }
}
