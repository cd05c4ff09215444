import {
  duplicate,
  type Faults,
  forbidden,
  invalid,
  invalidEach,
  oneOf,
  required,
  unsupported,
} from '../../../kube/validation/field-error.ts';
import { dns1035Label, dns1123Subdomain } from '../../../kube/validation/name-rules.ts';
import { labelSelector } from '../../../kube/validation/shared.ts';
import {
  isObject,
  type JsonObject,
  listAt,
  objectAt,
  objectsAt,
  specOf,
  stringAt,
  textOf,
} from '../../../apimachinery/json.ts';
import { ownMember } from '../../../base/own.ts';
import { pathSegment } from '../../../apimachinery/path-segment.ts';
import { asSelector } from '../validation/selector-rules.ts';
import { matchConditionFaults, ruleDefaults } from './webhook-rules.ts';
import { ruleFaults } from './match-rules.ts';

const mutable = ['*', 'CONNECT', 'CREATE', 'UPDATE'];
const ruleLists = ['resourceRules', 'excludeResourceRules'];

/** Sets the defaults of what a policy or binding matches. */
export function matchDefaults(match: JsonObject): JsonObject {
  const lists = ruleLists.flatMap((key) => {
    const rules = objectsAt(match, key);
    return rules.length === 0 ? [] : [[key, rules.map(ruleDefaults)] as const];
  });
  return {
    matchPolicy: 'Equivalent',
    namespaceSelector: {},
    objectSelector: {},
    ...match,
    ...Object.fromEntries(lists),
  };
}

/** Returns the object with defaults of a member of its spec that matches requests. */
export function withMatchDefaults(object: JsonObject, key: string, more: JsonObject = {}): JsonObject {
  const spec = { ...more, ...specOf(object) };
  const match = ownMember(spec, key);
  return { ...object, spec: { ...spec, ...(isObject(match) && { [key]: matchDefaults(match) }) } };
}

/** Validates what a policy or binding matches. */
export function* matchFaults(field: string, match: JsonObject): Faults {
  yield* oneOf(`${field}.matchPolicy`, stringAt(match, 'matchPolicy'), ['Equivalent', 'Exact']);
  for (const key of ['namespaceSelector', 'objectSelector'])
    yield* labelSelector(`${field}.${key}`, asSelector(objectAt(match, key)));
  for (const key of ruleLists)
    for (const [i, rule] of objectsAt(match, key).entries()) {
      const at = `${field}.${key}[${i}]`;
      const names = listAt(rule, 'resourceNames').map(textOf);
      for (const [j, name] of names.entries()) {
        yield* invalidEach(`${at}.resourceNames[${j}]`, name, pathSegment(name, false));
        if (names.indexOf(name) < j) yield duplicate(`${at}.resourceNames[${j}]`, name);
      }
      yield* ruleFaults(at, rule);
    }
}

/** Validates that a policy that changes objects is not about deletions. */
export function* onlyMutable(field: string, match: JsonObject): Faults {
  for (const rule of objectsAt(match, 'resourceRules'))
    for (const operation of listAt(rule, 'operations').map(textOf))
      if (!mutable.includes(operation))
        yield unsupported(`${field}.resourceRules.operations`, operation, mutable);
}

function* versionFaults(field: string, apiVersion: string): Faults {
  const parts = apiVersion === '/' ? [''] : apiVersion.split('/');
  if (parts.length > 2) {
    yield invalid(field, apiVersion, `unexpected GroupVersion string: ${apiVersion}`);
    return;
  }
  const [group = '', version = ''] = parts.length === 2 ? parts : ['', ...parts];
  const [wrongGroup, wrongVersion] = [dns1123Subdomain(group), dns1035Label(version)];
  if (group !== '' && wrongGroup.length > 0) yield invalid(field, group, wrongGroup.join(','));
  if (version === '') yield invalid(field, apiVersion, 'version must be specified');
  else if (wrongVersion.length > 0) yield invalid(field, version, wrongVersion.join(','));
}

function* paramKind(field: string, kind: JsonObject): Faults {
  const [apiVersion, name] = [stringAt(kind, 'apiVersion'), stringAt(kind, 'kind')];
  if (apiVersion === '') yield required(`${field}.apiVersion`);
  else yield* versionFaults(`${field}.apiVersion`, apiVersion);
  const wrong = dns1035Label(name.toLowerCase());
  if (name === '') yield required(`${field}.kind`);
  else if (wrong.length > 0)
    yield invalid(
      `${field}.kind`,
      name,
      `may have mixed case, but should otherwise match: ${wrong.join(',')}`,
    );
}

const identifier = /^[_a-zA-Z][_a-zA-Z0-9]*$/;
const reserved = new Set(
  'true false null in as break const continue else for function if import let loop package namespace return var void while'.split(
    ' ',
  ),
);

function* variableFaults(field: string, variables: readonly JsonObject[]): Faults {
  for (const [i, variable] of variables.entries()) {
    const name = stringAt(variable, 'name');
    if (name.trim() === '') yield required(`${field}[${i}].name`, 'name is not specified');
    else if (!identifier.test(name) || reserved.has(name))
      yield invalid(`${field}[${i}].name`, name, 'must be a valid CEL identifier');
    if (stringAt(variable, 'expression').trim() === '')
      yield required(`${field}[${i}].expression`, 'expression is not specified');
  }
}

/** Validates what policies of both kinds share; the meaning of their expressions is not checked here. */
export function* policyFaults(policy: JsonObject, isMutating: boolean): Faults {
  const spec = specOf(policy);
  const match = spec['matchConstraints'];
  yield* oneOf('spec.failurePolicy', stringAt(spec, 'failurePolicy'), ['Fail', 'Ignore']);
  if (isObject(spec['paramKind'])) yield* paramKind('spec.paramKind', objectAt(spec, 'paramKind'));
  const field = 'spec.matchConstraints';
  if (isObject(match)) {
    yield* matchFaults(field, match);
    if (objectsAt(match, 'resourceRules').length === 0) yield required(`${field}.resourceRules`);
    if (isMutating) yield* onlyMutable(field, match);
  } else yield required(field);
  yield* matchConditionFaults('spec.matchConditions', objectsAt(spec, 'matchConditions'));
  yield* variableFaults('spec.variables', objectsAt(spec, 'variables'));
}

function* paramRef(field: string, ref: JsonObject): Faults {
  const name = stringAt(ref, 'name');
  const { selector, parameterNotFoundAction: action } = ref;
  const both = name !== '' && selector !== undefined;
  const why = 'name and selector are mutually exclusive';
  yield* invalidEach(`${field}.name`, name, pathSegment(name, false));
  if (both) yield forbidden(`${field}.name`, why);
  yield* labelSelector(`${field}.selector`, asSelector(selector));
  if (both) yield forbidden(`${field}.selector`, why);
  if (name === '' && selector === undefined)
    yield required(field, 'one of name or selector must be specified');
  if (action === undefined || action === '') yield required(`${field}.parameterNotFoundAction`);
  else yield* oneOf(`${field}.parameterNotFoundAction`, textOf(action), ['Deny', 'Allow']);
}

/** Validates what bindings of both kinds share. */
export function* bindingFaults(binding: JsonObject, isMutating: boolean): Faults {
  const spec = specOf(binding);
  const name = stringAt(spec, 'policyName');
  if (name === '') yield required('spec.policyName');
  else yield* invalidEach('spec.policyName', name, dns1123Subdomain(name));
  if (isObject(spec['paramRef'])) yield* paramRef('spec.paramRef', objectAt(spec, 'paramRef'));
  const match = spec['matchResources'];
  if (!isObject(match)) return;
  yield* matchFaults('spec.matchResources', match);
  if (isMutating) yield* onlyMutable('spec.matchResources', match);
}
