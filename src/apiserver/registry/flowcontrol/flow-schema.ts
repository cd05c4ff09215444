import {
  duplicate,
  type FieldError,
  type Faults,
  forbidden,
  invalid,
  invalidEach,
  required,
  unsupported,
} from '../../../kube/validation/field-error.ts';
import { dns1123Label, dns1123Subdomain } from '../../../kube/validation/name-rules.ts';
import {
  isObject,
  type JsonObject,
  listAt,
  nameOf,
  objectAt,
  objectsAt,
  specOf,
  statusOf,
  stringAt,
  textOf,
} from '../../../apimachinery/json.ts';
import { ownMember } from '../../../base/own.ts';
import { builtIn } from '../../../apimachinery/kinds.ts';
import { strategyOf } from '../kind-strategy.ts';
import type { Strategy } from '../strategy.ts';
import { numberAt } from '../validation/value-rules.ts';

const greatestPrecedence = 10_000;
const verbs = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'proxy', 'update', 'watch'];
const subjectKinds = ['Group', 'ServiceAccount', 'User'];
const memberOf = { ServiceAccount: 'serviceAccount', User: 'user', Group: 'group' } as const;

const namesOf = (rule: JsonObject, key: string): readonly string[] => listAt(rule, key).map(textOf);

/** Validates that a wildcard is alone. */
function* wildcardAlone(field: string, list: readonly string[], what: string): Faults {
  if (list.length > 1 && list.includes('*'))
    yield invalid(field, list, `if '*' is present, must not specify other ${what}`);
}

function* verbFaults(field: string, list: readonly string[]): Faults {
  if (list.length === 0) yield required(field, 'verbs must contain at least one value');
  else if (list.includes('*')) yield* wildcardAlone(field, list, 'verbs');
  else if (!list.every((verb) => verbs.includes(verb))) yield unsupported(field, list, verbs);
}

function* namespaceFaults(field: string, rule: JsonObject): Faults {
  const list = namesOf(rule, 'namespaces');
  if (list.length === 0 && rule['clusterScope'] !== true)
    yield required(field, 'resource rules that are not cluster scoped must supply at least one namespace');
  else if (list.includes('*')) yield* wildcardAlone(field, list, 'namespaces');
  else
    for (const [i, name] of list.entries())
      for (const why of dns1123Label(name))
        yield invalid(
          `${field}[${i}]`,
          name,
          `each member of this list must be '*' or a DNS-1123 label; ${why}`,
        );
}

function* resourceRule(field: string, rule: JsonObject): Faults {
  yield* verbFaults(`${field}.verbs`, namesOf(rule, 'verbs'));
  for (const [key, one, many] of [
    ['apiGroups', 'api group', 'api groups'],
    ['resources', 'resource', 'resources'],
  ] as const) {
    const list = namesOf(rule, key);
    if (list.length === 0)
      yield required(`${field}.${key}`, `resource rules must supply at least one ${one}`);
    else yield* wildcardAlone(`${field}.${key}`, list, many);
  }
  yield* namespaceFaults(`${field}.namespaces`, rule);
}

/** Returns what is wrong with a path that is not of a resource. */
function pathFault(path: string): string | undefined {
  if (path === '') return 'must not be empty';
  if (path === '/') return undefined;
  if (!path.startsWith('/')) return 'must start with slash';
  if (path.includes(' ')) return 'must not contain white-space';
  if (path.includes('//')) return 'must not contain double slash';
  const stars = path.split('*').length - 1;
  return stars > 1 || (stars === 1 && !path.endsWith('/*'))
    ? 'wildcard can only do suffix matching'
    : undefined;
}

function* pathRule(field: string, rule: JsonObject): Faults {
  yield* verbFaults(`${field}.verbs`, namesOf(rule, 'verbs'));
  const at = `${field}.nonResourceURLs`;
  const paths = namesOf(rule, 'nonResourceURLs');
  if (paths.length === 0) yield required(at, 'nonResourceURLs must contain at least one value');
  else if (paths.includes('*')) yield* wildcardAlone(at, paths, 'non-resource URLs');
  else
    for (const [i, path] of paths.entries()) {
      const why = pathFault(path);
      if (why !== undefined) yield invalid(`${at}[${i}]`, path, why);
    }
}

function* accountFaults(field: string, account: JsonObject): Faults {
  const [name, namespace] = [stringAt(account, 'name'), stringAt(account, 'namespace')];
  if (name === '') yield required(`${field}.name`);
  else if (name !== '*') yield* invalidEach(`${field}.name`, name, dns1123Subdomain(name));
  if (namespace === '') yield required(`${field}.namespace`, 'must specify namespace for service account');
  else yield* invalidEach(`${field}.namespace`, namespace, dns1123Label(namespace));
}

function* subjectFaults(field: string, subject: JsonObject): Faults {
  const kind = stringAt(subject, 'kind');
  const own = ownMember(memberOf, kind);
  if (own === undefined) {
    yield unsupported(`${field}.kind`, kind, subjectKinds);
    return;
  }
  const holder = ownMember(subject, own);
  if (!isObject(holder))
    yield required(`${field}.${own}`, `${own} is required when subject kind is '${kind}'`);
  else if (own === 'serviceAccount') yield* accountFaults(`${field}.${own}`, holder);
  else if (stringAt(holder, 'name') === '') yield required(`${field}.${own}.name`);
  for (const [other, key] of Object.entries(memberOf))
    if (other !== kind && ownMember(subject, key) !== undefined)
      yield forbidden(`${field}.${key}`, `${key} is forbidden when subject kind is not '${other}'`);
}

function* ruleFaults(field: string, rule: JsonObject): Faults {
  const subjects = objectsAt(rule, 'subjects');
  const [resources, paths] = [objectsAt(rule, 'resourceRules'), objectsAt(rule, 'nonResourceRules')];
  if (subjects.length === 0) yield required(`${field}.subjects`, 'subjects must contain at least one value');
  for (const [i, subject] of subjects.entries()) yield* subjectFaults(`${field}.subjects[${i}]`, subject);
  if (resources.length + paths.length === 0)
    yield required(field, 'at least one of resourceRules and nonResourceRules has to be non-empty');
  for (const [i, one] of resources.entries()) yield* resourceRule(`${field}.resourceRules[${i}]`, one);
  for (const [i, one] of paths.entries()) yield* pathRule(`${field}.nonResourceRules[${i}]`, one);
}

function* precedenceFaults(field: string, precedence: number, name: string): Faults {
  if (precedence <= 0) yield invalid(field, precedence, 'must be a positive value');
  if (precedence > greatestPrecedence)
    yield invalid(field, precedence, `must not be greater than ${greatestPrecedence}`);
  if (precedence === 1 && name !== 'exempt')
    yield invalid(field, precedence, "only the schema named 'exempt' may have matchingPrecedence 1");
}

/** Validates conditions: each has a type of its own. */
export function* conditionFaults(object: JsonObject): Faults {
  const seen = new Set<string>();
  for (const [i, condition] of objectsAt(statusOf(object), 'conditions').entries()) {
    const type = stringAt(condition, 'type');
    const field = `status.conditions[${i}].type`;
    if (seen.has(type)) yield duplicate(field, type);
    seen.add(type);
    if (type === '') yield required(field);
  }
}

/** Validates a flow schema. Follows Kubernetes `ValidateFlowSchemaSpec` (pkg/apis/flowcontrol/validation, v1.36). */
function* faults(schema: JsonObject): Faults {
  const spec = specOf(schema);
  yield* precedenceFaults('spec.matchingPrecedence', numberAt(spec, 'matchingPrecedence', 0), nameOf(schema));
  const method = spec['distinguisherMethod'];
  if (isObject(method) && !['ByNamespace', 'ByUser'].includes(stringAt(method, 'type')))
    yield unsupported('spec.distinguisherMethod.type', { Type: stringAt(method, 'type') }, [
      'ByNamespace',
      'ByUser',
    ]);
  const level = stringAt(objectAt(spec, 'priorityLevelConfiguration'), 'name');
  const field = 'spec.priorityLevelConfiguration.name';
  if (level === '') yield required(field, 'must reference a priority level');
  else yield* invalidEach(field, level, dns1123Subdomain(level));
  for (const [i, rule] of objectsAt(spec, 'rules').entries()) yield* ruleFaults(`spec.rules[${i}]`, rule);
  yield* conditionFaults(schema);
}

/** Strategy of flow schemas. */
export const flowSchemaStrategy: Strategy = strategyOf(
  builtIn('flowschemas', 'flowcontrol.apiserver.k8s.io'),
  {
    defaults: (schema) => ({
      ...schema,
      spec: {
        ...specOf(schema),
        matchingPrecedence: numberAt(specOf(schema), 'matchingPrecedence', 0) || 1000,
      },
    }),
    faults: (schema): Iterable<FieldError> => faults(schema),
    metadataChecks: ['whole'],
    status: { faults: conditionFaults, frozenMetadata: 'all' },
  },
);
