import { tableOf } from '../base/own.ts';
import { putService } from './controllers/kubernetes-service.ts';
import { createOwn } from './controllers/own-objects.ts';
import {
  type JsonObject,
  metadataOf,
  objectAt,
  objectsAt,
  sameJson,
  stringAt,
  withMetadata,
} from '../apimachinery/json.ts';
import { builtIn } from '../apimachinery/kinds.ts';
import { autoUpdate, bootstrapPolicy } from './authorization/bootstrap/bootstrap-policy.ts';
import { permissionsOf, type Rule, ruleCovers, rulesOf } from './authorization/rules.ts';
import type { ResourceApi } from './endpoints/handlers/resource-api.ts';
import { keyOf } from './storage/store.ts';
import type { World } from './request/write-context.ts';

const systemNamespaces = ['kube-system', 'kube-public', 'default', 'kube-node-lease'];
const priorityDescriptions: Readonly<Record<string, string>> = tableOf({
  'system-cluster-critical':
    'Used for system critical pods that must run in the cluster, but can be moved to another node if necessary.',
  'system-node-critical': 'Used for system critical pods that must not be moved from their current node.',
});
const systemPriorities: Readonly<Record<string, number>> = {
  'system-node-critical': 2_000_001_000,
  'system-cluster-critical': 2_000_000_000,
};

/** Creates the bootstrap roles and bindings, and adds to existing ones what they lack, unless their annotation prevents that. */
function seedRoles(resources: ResourceApi, world: World): void {
  for (const { resource, namespace, object } of bootstrapPolicy()) {
    const kind = builtIn(resource, 'rbac.authorization.k8s.io');
    const standing = world.store.get(kind.storage, keyOf(namespace, object.metadata.name))?.object;
    if (!standing) {
      createOwn({ resources, world }, kind, withMetadata(object, { namespace: namespace || undefined }));
      continue;
    }
    const annotations = objectAt(metadataOf(standing), 'annotations');
    const next = stringAt(annotations, autoUpdate) === 'false' ? standing : completed(standing, object);
    if (next !== standing) world.store.put(kind.storage, next);
  }
}

/** Allows bootstrapping nodes to request certificates, as cluster installers do: the server signs them itself. */
const nodeBootstrap = {
  metadata: { name: 'podtender:kubelet-bootstrap' },
  roleRef: {
    apiGroup: 'rbac.authorization.k8s.io',
    kind: 'ClusterRole',
    name: 'system:node-bootstrapper',
  },
  subjects: [{ kind: 'Group', apiGroup: 'rbac.authorization.k8s.io', name: 'system:bootstrappers' }],
};

/** Returns a role or binding with the rules and subjects that it lacks; the same object if it lacks none. */
function completed(standing: JsonObject, expected: JsonObject): JsonObject {
  const own = rulesOf(standing);
  const covered = (rule: Rule): boolean =>
    permissionsOf(rule).every((one) => own.some((ownRule) => ruleCovers(ownRule, one)));
  const rules = objectsAt(expected, 'rules').filter((_, i) => {
    const rule = rulesOf(expected)[i];
    return rule && !covered(rule);
  });
  const has = objectsAt(standing, 'subjects');
  const subjects = objectsAt(expected, 'subjects').filter(
    (one) => !has.some((other) => sameJson(one, other)),
  );
  if (rules.length === 0 && subjects.length === 0) return standing;
  return {
    ...standing,
    ...(rules.length > 0 && { rules: [...objectsAt(standing, 'rules'), ...rules] }),
    ...(subjects.length > 0 && { subjects: [...has, ...subjects] }),
  };
}

/**
 * Creates the objects of a new cluster: four namespaces, two priority classes, the roles and bindings of {@link bootstrapPolicy}; with a
 * port, the server's own service, before the roles as in kube-apiserver.
 */
export function seed(resources: ResourceApi, world: World, port?: number): void {
  const create = (resource: string, group: string, object: JsonObject): void => {
    createOwn({ resources, world }, builtIn(resource, group), object);
  };
  for (const name of systemNamespaces) create('namespaces', '', { metadata: { name } });
  if (port !== undefined) putService({ resources, world }, port);
  for (const [name, value] of Object.entries(systemPriorities))
    create('priorityclasses', 'scheduling.k8s.io', {
      metadata: { name },
      value,
      description: priorityDescriptions[name],
    });
  seedRoles(resources, world);
  create('clusterrolebindings', 'rbac.authorization.k8s.io', nodeBootstrap);
}
