import { goQuote } from '../../../go/go-quote.ts';
import {
  duplicate,
  type Faults,
  invalid,
  invalidEach,
  omitted,
  oneOf,
  required,
  tooLong,
  tooMany,
  unsupported,
} from '../../../kube/validation/field-error.ts';
import { qualifiedNameRule } from '../../../kube/validation/name-rules.ts';
import {
  isObject,
  type JsonObject,
  listAt,
  objectAt,
  objectsAt,
  specOf,
  stringAt,
} from '../../../apimachinery/json.ts';
import { nonNegatives, numberAt } from '../validation/value-rules.ts';
import { countIndexes } from './index-intervals.ts';

const most = { rules: 20, values: 255, patterns: 20, indexes: 64 * 1024 } as const;
const actions = ['Count', 'FailIndex', 'FailJob', 'Ignore'];
const statuses = ['False', 'True', 'Unknown'];
const operators = ['In', 'NotIn'];

const choices = (values: readonly string[]): string => `valid values: [${values.map(goQuote).join(' ')}]`;

/** Validates a text that must be one of some values. */
function* choice(field: string, value: string, values: readonly string[]): Faults {
  if (value === '') yield required(field, choices(values));
  else yield* oneOf(field, value, values);
}

function* podConditions(field: string, patterns: readonly JsonObject[]): Faults {
  if (patterns.length > most.patterns) yield tooMany(field, patterns.length, most.patterns);
  for (const [i, pattern] of patterns.entries()) {
    const type = stringAt(pattern, 'type');
    yield* invalidEach(`${field}[${i}].type`, type, qualifiedNameRule(type));
    yield* choice(`${field}[${i}].status`, stringAt(pattern, 'status'), statuses);
  }
}

function* exitCodeValues(field: string, operator: string, values: readonly number[]): Faults {
  if (values.length === 0) yield invalid(field, values, 'at least one value is required');
  else if (values.length > most.values) yield tooMany(field, values.length, most.values);
  const seen = new Set<number>();
  for (const [i, value] of values.entries()) {
    if (operator === 'In' && value === 0)
      yield invalid(`${field}[${i}]`, value, 'must not be 0 for the In operator');
    if (seen.has(value)) yield duplicate(`${field}[${i}]`, value);
    seen.add(value);
  }
  if (values.some((value, i) => (values[i - 1] ?? value) > value))
    yield invalid(field, values, 'must be ordered');
}

function* exitCodes(field: string, codes: JsonObject, containers: readonly string[]): Faults {
  const operator = stringAt(codes, 'operator');
  yield* choice(`${field}.operator`, operator, operators);
  const { containerName } = codes;
  if (typeof containerName === 'string' && !containers.includes(containerName))
    yield invalid(
      `${field}.containerName`,
      containerName,
      'must be one of the container or initContainer names in the pod template',
    );
  yield* exitCodeValues(`${field}.values`, operator, listAt(codes, 'values') as readonly number[]);
}

function* failureRule(field: string, rule: JsonObject, spec: JsonObject): Faults {
  const action = stringAt(rule, 'action');
  if (action !== 'FailIndex') yield* choice(`${field}.action`, action, actions);
  else if (spec['backoffLimitPerIndex'] === undefined)
    yield invalid(`${field}.action`, action, 'requires the backoffLimitPerIndex to be set');
  const template = specOf(objectAt(spec, 'template'));
  const names = ['containers', 'initContainers'].flatMap((key) =>
    objectsAt(template, key).map((one) => stringAt(one, 'name')),
  );
  const coded = isObject(rule['onExitCodes']);
  const patterns = objectsAt(rule, 'onPodConditions');
  if (coded) yield* exitCodes(`${field}.onExitCodes`, objectAt(rule, 'onExitCodes'), names);
  if (patterns.length > 0) yield* podConditions(`${field}.onPodConditions`, patterns);
  if (coded === patterns.length > 0)
    yield invalid(
      field,
      omitted,
      coded
        ? 'specifying both OnExitCodes and OnPodConditions is not supported'
        : 'specifying one of OnExitCodes and OnPodConditions is required',
    );
}

/** Validates a job's pod failure policy. */
export function* podFailurePolicy(field: string, spec: JsonObject): Faults {
  const rules = objectsAt(objectAt(spec, 'podFailurePolicy'), 'rules');
  if (rules.length > most.rules) yield tooMany(`${field}.rules`, rules.length, most.rules);
  for (const [i, rule] of rules.entries()) yield* failureRule(`${field}.rules[${i}]`, rule, spec);
}

/** Validates a job's pod replacement policy: with a failure policy only failed pods are replaced. */
export function* podReplacementPolicy(field: string, spec: JsonObject): Faults {
  const policy = stringAt(spec, 'podReplacementPolicy');
  if (spec['podReplacementPolicy'] === undefined) return;
  const allowed = spec['podFailurePolicy'] === undefined ? ['Failed', 'TerminatingOrFailed'] : ['Failed'];
  if (!allowed.includes(policy)) yield unsupported(field, policy, allowed);
}

function* successRule(field: string, rule: JsonObject, completions: number): Faults {
  const count = numberAt(rule, 'succeededCount');
  const { succeededIndexes: indexes } = rule;
  if (count === undefined && indexes === undefined)
    yield required(field, 'at least one of succeededCount or succeededIndexes must be specified');
  let total = 0;
  if (typeof indexes === 'string') {
    const at = `${field}.succeededIndexes`;
    if (Buffer.byteLength(indexes) > most.indexes) yield tooLong(at, most.indexes);
    const read = countIndexes(indexes, completions);
    total = read.total;
    if (read.why !== undefined) yield invalid(at, indexes, `error parsing succeededIndexes: ${read.why}`);
  }
  if (count === undefined) return;
  yield* nonNegatives(field, rule, 'succeededCount');
  const tooHigh = (limit: number, of: string): string =>
    `must be less than or equal to ${limit} (the number of ${of})`;
  if (count > completions)
    yield invalid(`${field}.succeededCount`, count, tooHigh(completions, 'specified completions'));
  if (indexes !== undefined && count > total)
    yield invalid(
      `${field}.succeededCount`,
      count,
      tooHigh(total, 'indexes in the specified succeededIndexes field'),
    );
}

/** Validates a job's success policy, which only indexed jobs may have. */
export function* successPolicy(field: string, spec: JsonObject): Faults {
  const policy = objectAt(spec, 'successPolicy');
  const rules = objectsAt(policy, 'rules');
  if (spec['completionMode'] !== 'Indexed') {
    const shown = rules.map((rule) => ({
      SucceededIndexes: rule['succeededIndexes'] ?? null,
      SucceededCount: rule['succeededCount'] ?? null,
    }));
    yield invalid(
      field,
      { Rules: policy['rules'] === undefined ? null : shown },
      'requires indexed completion mode',
    );
    return;
  }
  const at = `${field}.rules`;
  if (rules.length === 0)
    yield required(at, 'at least one rules must be specified when the successPolicy is specified');
  if (rules.length > most.rules) yield tooMany(at, rules.length, most.rules);
  for (const [i, rule] of rules.entries())
    yield* successRule(`${at}[${i}]`, rule, numberAt(spec, 'completions', 0));
}
