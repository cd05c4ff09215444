import { expect, test } from 'vitest';
import {
  bootstrapPolicy,
  ruleOf,
} from '../../../../src/apiserver/authorization/bootstrap/bootstrap-policy.ts';

test.for<[string, object]>([
  ['read core pods', { verbs: ['get', 'list', 'watch'], apiGroups: [''], resources: ['pods'] }],
  ['* * *', { verbs: ['*'], apiGroups: ['*'], resources: ['*'] }],
  ['* *', { verbs: ['*'], nonResourceURLs: ['*'] }],
  ['get /a /b/*', { verbs: ['get'], nonResourceURLs: ['/a', '/b/*'] }],
  [
    'get,update coordination.k8s.io leases x',
    {
      verbs: ['get', 'update'],
      apiGroups: ['coordination.k8s.io'],
      resources: ['leases'],
      resourceNames: ['x'],
    },
  ],
  [
    'record',
    { verbs: ['create', 'patch', 'update'], apiGroups: ['', 'events.k8s.io'], resources: ['events'] },
  ],
])('%s is a rule', ([text, rule]) => {
  expect(ruleOf(text)).toEqual(rule);
});

test('every binding refers to a role of the policy, and names are unique', () => {
  const all = [...bootstrapPolicy()];
  const key = (resource: string, namespace: string, name: string): string =>
    `${resource} ${namespace} ${name}`;
  const keys = new Set(
    all.map(({ resource, namespace, object }) => key(resource, namespace, object.metadata.name)),
  );
  expect(keys.size).toBe(all.length);
  for (const { resource, namespace, object } of all) {
    if (!resource.endsWith('bindings')) continue;
    const { kind, name } = object['roleRef'] as { readonly kind: string; readonly name: string };
    expect(keys).toContain(key(kind === 'Role' ? 'roles' : 'clusterroles', namespace, name));
  }
});
