import { type Faults, invalid, required } from '../../../kube/validation/field-error.ts';
import { labelSelector } from '../../../kube/validation/shared.ts';
import { isObject, type JsonObject, listAt, objectAt, objectsAt } from '../../../apimachinery/json.ts';
import { builtIn } from '../../../apimachinery/kinds.ts';
import { strategyOf } from '../kind-strategy.ts';
import type { Strategy } from '../strategy.ts';
import { asSelector, isUsableSelector } from '../validation/selector-rules.ts';

const group = 'rbac.authorization.k8s.io';

function* ruleFaults(field: string, rule: JsonObject, isNamespaced: boolean): Faults {
  const urls = listAt(rule, 'nonResourceURLs');
  const has = (key: string): boolean => listAt(rule, key).length > 0;
  if (!has('verbs')) yield required(`${field}.verbs`, 'verbs must contain at least one value');
  if (urls.length > 0) {
    const at = `${field}.nonResourceURLs`;
    if (isNamespaced) yield invalid(at, urls, 'namespaced rules cannot apply to non-resource URLs');
    if (['apiGroups', 'resources', 'resourceNames'].some(has))
      yield invalid(at, urls, 'rules cannot apply to both regular resources and non-resource URLs');
    return;
  }
  if (!has('apiGroups'))
    yield required(`${field}.apiGroups`, 'resource rules must supply at least one api group');
  if (!has('resources'))
    yield required(`${field}.resources`, 'resource rules must supply at least one resource');
}

function* rules(role: JsonObject, isNamespaced: boolean): Faults {
  for (const [i, rule] of objectsAt(role, 'rules').entries())
    yield* ruleFaults(`rules[${i}]`, rule, isNamespaced);
}

function* clusterRoleFaults(role: JsonObject): Faults {
  yield* rules(role, false);
  if (!isObject(role['aggregationRule'])) return;
  const field = 'aggregationRule.clusterRoleSelectors';
  const selectors = objectsAt(objectAt(role, 'aggregationRule'), 'clusterRoleSelectors');
  if (selectors.length === 0)
    yield required(field, 'at least one clusterRoleSelector required if aggregationRule is non-nil');
  for (const [i, selector] of selectors.entries()) {
    yield* labelSelector(`${field}[${i}]`, asSelector(selector));
    if (!isUsableSelector(selector)) yield invalid(`${field}[${i}]`, null, 'invalid label selector.');
  }
}

/** Strategy of roles. */
export const roleStrategy: Strategy = strategyOf(builtIn('roles', group), {
  faults: (role) => rules(role, true),
  metadataChecks: ['changes', 'whole'],
});

/** Strategy of cluster roles. */
export const clusterRoleStrategy: Strategy = strategyOf(builtIn('clusterroles', group), {
  faults: clusterRoleFaults,
  metadataChecks: ['changes', 'whole'],
});
