import {
  type Faults,
  invalid,
  invalidEach,
  required,
  unsupported,
} from '../../../kube/validation/field-error.ts';
import { dns1123Subdomain } from '../../../kube/validation/name-rules.ts';
import { type JsonObject, objectAt, objectsAt, sameJson, stringAt } from '../../../apimachinery/json.ts';
import { builtIn } from '../../../apimachinery/kinds.ts';
import { pathSegment } from '../../../apimachinery/path-segment.ts';
import { strategyOf } from '../kind-strategy.ts';
import type { Strategy } from '../strategy.ts';

const group = 'rbac.authorization.k8s.io';
const people = ['User', 'Group'];

/** Sets the API group of the role and of users and groups. */
function defaults(binding: JsonObject): JsonObject {
  const role = objectAt(binding, 'roleRef');
  const subjects = objectsAt(binding, 'subjects');
  return {
    ...binding,
    roleRef: { ...role, apiGroup: stringAt(role, 'apiGroup') || group },
    ...(subjects.length > 0 && {
      subjects: subjects.map((one) =>
        people.includes(stringAt(one, 'kind')) && stringAt(one, 'apiGroup') === ''
          ? { ...one, apiGroup: group }
          : one,
      ),
    }),
  };
}

function* roleFaults(role: JsonObject, kinds: readonly string[]): Faults {
  const [apiGroup, kind, name] = ['apiGroup', 'kind', 'name'].map((key) => stringAt(role, key)) as [
    string,
    string,
    string,
  ];
  if (apiGroup !== group) yield unsupported('roleRef.apiGroup', apiGroup, [group]);
  if (!kinds.includes(kind)) yield unsupported('roleRef.kind', kind, kinds);
  if (name === '') yield required('roleRef.name');
  else yield* invalidEach('roleRef.name', name, pathSegment(name, false));
}

function* accountFaults(field: string, subject: JsonObject, isNamespaced: boolean): Faults {
  const [name, apiGroup] = [stringAt(subject, 'name'), stringAt(subject, 'apiGroup')];
  if (name !== '') yield* invalidEach(`${field}.name`, name, dns1123Subdomain(name));
  if (apiGroup !== '') yield unsupported(`${field}.apiGroup`, apiGroup, ['']);
  if (!isNamespaced && stringAt(subject, 'namespace') === '') yield required(`${field}.namespace`);
}

function* subjectFaults(field: string, subject: JsonObject, isNamespaced: boolean): Faults {
  const kind = stringAt(subject, 'kind');
  const apiGroup = stringAt(subject, 'apiGroup');
  if (stringAt(subject, 'name') === '') yield required(`${field}.name`);
  if (kind === 'ServiceAccount') yield* accountFaults(field, subject, isNamespaced);
  else if (!people.includes(kind)) yield unsupported(`${field}.kind`, kind, ['ServiceAccount', ...people]);
  else if (apiGroup !== group) yield unsupported(`${field}.apiGroup`, apiGroup, [group]);
}

/** Returns the strategy of bindings of one scope. */
function bindings(resource: string, isNamespaced: boolean): Strategy {
  const kinds = isNamespaced ? ['Role', 'ClusterRole'] : ['ClusterRole'];
  return strategyOf(builtIn(resource, group), {
    defaults,
    *faults(binding, old) {
      const role = objectAt(binding, 'roleRef');
      yield* roleFaults(role, kinds);
      for (const [i, subject] of objectsAt(binding, 'subjects').entries())
        yield* subjectFaults(`subjects[${i}]`, subject, isNamespaced);
      if (old && !sameJson(role, objectAt(old, 'roleRef')))
        yield invalid(
          'roleRef',
          { APIGroup: role['apiGroup'], Kind: role['kind'], Name: role['name'] },
          'cannot change roleRef',
        );
    },
    metadataChecks: ['changes', 'whole'],
  });
}

/** Strategy of role bindings: the role does not change. */
export const roleBindingStrategy: Strategy = bindings('rolebindings', true);

/** Strategy of cluster role bindings: the role does not change. */
export const clusterRoleBindingStrategy: Strategy = bindings('clusterrolebindings', false);
