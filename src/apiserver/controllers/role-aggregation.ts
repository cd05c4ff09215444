import {
  isObject,
  type JsonObject,
  metadataOf,
  nameOf,
  objectAt,
  objectsAt,
  sameJson,
} from '../../apimachinery/json.ts';
import { builtIn } from '../../apimachinery/kinds.ts';
import { labelSelectorMatches } from '../../kube/label-selector.ts';
import { type ControllerDeps, systemContext } from './controllers.ts';

const kind = builtIn('clusterroles', 'rbac.authorization.k8s.io');
const writer = {
  manager: 'clusterrole-aggregation-controller',
  operation: 'Apply',
  apiVersion: 'rbac.authorization.k8s.io/v1',
} as const;

/**
 * Sets the rules of cluster roles with an aggregation rule to those of the roles that it selects, whenever one of them changes. Follows
 * kube-controller-manager's clusterrole-aggregation-controller (v1.36).
 */
export function aggregateRoles(deps: ControllerDeps): () => void {
  const { store } = deps.world;
  const registry = deps.resources.registry(kind);
  const sync = (): void => {
    const roles = [...store.list(kind.storage)].map(({ object }) => object);
    for (const role of roles) {
      if (!isObject(role['aggregationRule'])) continue;
      const rules = aggregated(role, roles);
      if (sameJson(rules, objectsAt(role, 'rules'))) continue;
      const at = { namespace: '', name: nameOf(role), subresource: '' };
      // its own write begins the next round, for the roles that select this one
      return void registry.update(
        at,
        (standing) => ({ ...standing, rules }),
        writer,
        systemContext(deps.world),
      );
    }
  };
  sync();
  return store.onChange((storage) => {
    if (storage === kind.storage) sync();
  });
}

const selects = (selector: JsonObject, labels: JsonObject): boolean =>
  labelSelectorMatches(selector, labels as Record<string, string>);

/** Returns the rules of the selected roles in the order of selectors and names, each once. */
function aggregated(role: JsonObject, roles: readonly JsonObject[]): readonly JsonObject[] {
  const rules: JsonObject[] = [];
  for (const selector of objectsAt(objectAt(role, 'aggregationRule'), 'clusterRoleSelectors'))
    for (const other of roles) {
      if (nameOf(other) === nameOf(role) || !selects(selector, objectAt(metadataOf(other), 'labels')))
        continue;
      for (const rule of objectsAt(other, 'rules'))
        if (!rules.some((one) => sameJson(one, rule))) rules.push(rule);
    }
  return rules;
}
