import { webhookConditionFaults } from '../../cel/admission/policy-faults.ts';
import { parseUrl } from '../../../go/url.ts';
import {
  duplicate,
  type Faults,
  invalid,
  invalidEach,
  oneOf,
  required,
  tooMany,
} from '../../../kube/validation/field-error.ts';
import {
  dns1035Label,
  dns1123Subdomain,
  portNumberFaults,
  qualifiedNameRule,
} from '../../../kube/validation/name-rules.ts';
import { labelSelector } from '../../../kube/validation/shared.ts';
import { messageOf } from '../../../base/errors.ts';
import {
  isObject,
  type JsonObject,
  listAt,
  objectAt,
  objectsAt,
  stringAt,
  sameJson,
  textOf,
} from '../../../apimachinery/json.ts';
import { asSelector } from '../validation/selector-rules.ts';
import { numberAt } from '../validation/value-rules.ts';
import { ruleFaults } from './match-rules.ts';

/** Reports whether the version of an AdmissionReview can be sent. */
const isKnownVersion = (version: string): boolean => version === 'v1' || version === 'v1beta1';
const knownVersions = 'v1, v1beta1';
const mostConditions = 64;

/** Returns a rule with its default scope. */
export const ruleDefaults = (rule: JsonObject): JsonObject => ({ ...rule, scope: rule['scope'] ?? '*' });

/** Sets the defaults of a webhook. */
export function hookDefaults(hook: JsonObject, more: JsonObject = {}): JsonObject {
  const client = objectAt(hook, 'clientConfig');
  const service = client['service'];
  const rules = objectsAt(hook, 'rules');
  return {
    failurePolicy: 'Fail',
    matchPolicy: 'Equivalent',
    namespaceSelector: {},
    objectSelector: {},
    timeoutSeconds: 10,
    ...more,
    ...hook,
    ...(rules.length > 0 && { rules: rules.map(ruleDefaults) }),
    ...(isObject(service) && { clientConfig: { ...client, service: { port: 443, ...service } } }),
  };
}

/** Validates a domain name of at least three labels. */
function* qualifiedName(field: string, name: string): Faults {
  const wrong = dns1123Subdomain(name);
  if (name === '') yield required(field);
  else if (wrong.length > 0) yield invalid(field, name, wrong.join(','));
  else if (name.split('.').length < 3)
    yield invalid(field, name, 'should be a domain with at least three segments separated by dots');
}

const form = '; desired format: https://host[/path]';

function* urlFaults(field: string, text: string): Faults {
  let url;
  try {
    url = parseUrl(text);
  } catch (reason) {
    yield required(field, `url must be a valid URL: ${messageOf(reason)}${form}`);
    return;
  }
  const { scheme, host, user, fragment, query } = url;
  if (scheme !== 'https') yield invalid(field, scheme, `'https' is the only allowed URL scheme${form}`);
  if (host === '') yield invalid(field, host, `host must be specified${form}`);
  if (user) {
    const shown = `${user.name}${user.password === undefined ? '' : `:${user.password}`}`;
    yield invalid(field, shown, 'user information is not permitted in the URL');
  }
  if (fragment !== '') yield invalid(field, fragment, 'fragments are not permitted in the URL');
  if (query !== '') yield invalid(field, query, 'query parameters are not permitted in the URL');
}

function* pathFaults(field: string, path: string): Faults {
  if (path === '' || path === '/') return;
  if (path === '//') {
    yield invalid(field, path, 'segment[0] may not be empty');
    return;
  }
  if (!path.startsWith('/')) yield invalid(field, path, "must start with a '/'");
  for (const [i, segment] of path.slice(1).replace(/\/$/, '').split('/').entries()) {
    if (segment === '') yield invalid(field, path, `segment[${i}] may not be empty`);
    else for (const why of dns1123Subdomain(segment)) yield invalid(field, path, `segment[${i}]: ${why}`);
  }
}

function* serviceFaults(field: string, service: JsonObject): Faults {
  for (const key of ['name', 'namespace'])
    if (stringAt(service, key) === '') yield required(`${field}.${key}`);
  const port = numberAt(service, 'port', 0);
  const wrong = portNumberFaults(port);
  if (wrong.length > 0) yield invalid(`${field}.port`, port, `port is not valid: ${wrong.join(', ')}`);
  if (typeof service['path'] === 'string') yield* pathFaults(`${field}.path`, service['path']);
}

function* clientFaults(field: string, client: JsonObject): Faults {
  const { url, service } = client;
  if ((url === undefined) === (service === undefined))
    yield required(field, 'exactly one of url or service is required');
  else if (typeof url === 'string') yield* urlFaults(`${field}.url`, url);
  else yield* serviceFaults(`${field}.service`, objectAt(client, 'service'));
}

/** Validates conditions under which a webhook or policy is called, except for the meaning of their expressions. */
export function* matchConditionFaults(field: string, conditions: readonly JsonObject[]): Faults {
  if (conditions.length > mostConditions) yield tooMany(field, conditions.length, mostConditions);
  const names = new Set<string>();
  for (const [i, condition] of conditions.entries()) {
    const name = stringAt(condition, 'name');
    if (stringAt(condition, 'expression').trim() === '') yield required(`${field}[${i}].expression`);
    if (name === '') yield required(`${field}[${i}].name`);
    else yield* invalidEach(`${field}[${i}].name`, name, qualifiedNameRule(name));
    if (name !== '' && names.has(name)) yield duplicate(`${field}[${i}].name`, name);
    names.add(name);
  }
}

function* versionFaults(field: string, versions: readonly string[]): Faults {
  if (versions.length === 0) {
    yield required(field, `must specify one of ${knownVersions}`);
    return;
  }
  for (const [i, version] of versions.entries())
    if (versions.indexOf(version) < i) yield invalid(`${field}[${i}]`, version, 'duplicate version');
    else yield* invalidEach(`${field}[${i}]`, version, dns1035Label(version));
  if (!versions.some(isKnownVersion))
    yield invalid(field, versions, `must include at least one of ${knownVersions}`);
}

function* hookFaults(field: string, hook: JsonObject, isMutating: boolean): Faults {
  yield* qualifiedName(`${field}.name`, stringAt(hook, 'name'));
  for (const [i, rule] of objectsAt(hook, 'rules').entries()) yield* ruleFaults(`${field}.rules[${i}]`, rule);
  yield* oneOf(`${field}.failurePolicy`, stringAt(hook, 'failurePolicy'), ['Fail', 'Ignore']);
  yield* oneOf(`${field}.matchPolicy`, stringAt(hook, 'matchPolicy'), ['Equivalent', 'Exact']);
  const effects = hook['sideEffects'];
  if (effects === undefined || effects === null)
    yield required(`${field}.sideEffects`, 'must specify one of None, NoneOnDryRun');
  else yield* oneOf(`${field}.sideEffects`, textOf(effects), ['None', 'NoneOnDryRun']);
  const timeout = numberAt(hook, 'timeoutSeconds', 10);
  if (timeout > 30 || timeout < 1)
    yield invalid(`${field}.timeoutSeconds`, timeout, 'the timeout value must be between 1 and 30 seconds');
  for (const key of ['namespaceSelector', 'objectSelector'])
    yield* labelSelector(`${field}.${key}`, asSelector(objectAt(hook, key)));
  if (isMutating)
    yield* oneOf(`${field}.reinvocationPolicy`, stringAt(hook, 'reinvocationPolicy'), ['IfNeeded', 'Never']);
  yield* clientFaults(`${field}.clientConfig`, objectAt(hook, 'clientConfig'));
}

function* conditionFaults(field: string, hook: JsonObject): Faults {
  yield* matchConditionFaults(`${field}.matchConditions`, objectsAt(hook, 'matchConditions'));
  yield* webhookConditionFaults(hook, field);
}

/** Reports whether no match condition of a configuration has changed: an update that leaves them alone does not validate them again. */
const sameConditions = (configuration: JsonObject, old: JsonObject | undefined): boolean =>
  old !== undefined && sameJson(conditionsOf(configuration), conditionsOf(old));

const conditionsOf = (configuration: JsonObject): readonly (readonly JsonObject[])[] =>
  objectsAt(configuration, 'webhooks').map((hook) => objectsAt(hook, 'matchConditions'));

/** Validates a configuration of webhooks. Follows Kubernetes pkg/apis/admissionregistration/validation, v1.36. */
export function* configurationFaults(
  configuration: JsonObject,
  old: JsonObject | undefined,
  isMutating: boolean,
): Faults {
  const isConditionsKept = sameConditions(configuration, old);
  const names = new Set<string>();
  for (const [i, hook] of objectsAt(configuration, 'webhooks').entries()) {
    const field = `webhooks[${i}]`;
    const name = stringAt(hook, 'name');
    yield* hookFaults(field, hook, isMutating);
    if (!isConditionsKept) yield* conditionFaults(field, hook);
    yield* versionFaults(
      `${field}.admissionReviewVersions`,
      listAt(hook, 'admissionReviewVersions').map(textOf),
    );
    if (name !== '' && names.has(name)) yield duplicate(`${field}.name`, name);
    names.add(name);
  }
}
