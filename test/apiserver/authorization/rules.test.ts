import { expect, test } from 'vitest';
import {
  describePermissions,
  permissionsOf,
  type Rule,
  ruleAllows,
  ruleCovers,
} from '../../../src/apiserver/authorization/rules.ts';

const user = { name: 'u', groups: [] };
const at = (verb: string, resource: string, more: object = {}): Parameters<typeof ruleAllows>[1] => ({
  user,
  verb,
  group: '',
  resource,
  subresource: '',
  namespace: '',
  name: '',
  ...more,
});
const on = (verbs: string, resources: string, names?: string): Rule => ({
  verbs: verbs.split(','),
  apiGroups: [''],
  resources: resources.split(','),
  ...(names !== undefined && { resourceNames: names.split(',') }),
});

test.for<[Rule, Parameters<typeof ruleAllows>[1], boolean]>([
  [on('get', 'pods'), at('get', 'pods'), true],
  [on('get', 'pods'), at('list', 'pods'), false],
  [on('get', 'pods'), at('get', 'pods', { subresource: 'log' }), false],
  [on('get', '*/log'), at('get', 'pods', { subresource: 'log' }), true],
  [on('get', '*'), at('get', 'pods', { subresource: 'log' }), true],
  [on('get', '*'), at('get', 'pods', { group: 'apps' }), false],
  [on('get', 'pods', 'a'), at('get', 'pods', { name: 'a' }), true],
  [on('get', 'pods', 'a'), at('get', 'pods', { name: 'b' }), false],
  [on('list', 'pods', 'a'), at('list', 'pods'), false],
  [on('*', '*'), at('get', '', { path: '/x' }), false],
  [{ verbs: ['get'], nonResourceURLs: ['/x/*'] }, at('get', '', { path: '/x/y' }), true],
  [{ verbs: ['get'], nonResourceURLs: ['/x/*'] }, at('get', '', { path: '/x' }), false],
  [{ verbs: ['get'], nonResourceURLs: ['*'] }, at('get', '', { path: '/x' }), true],
])('%j: %j is allowed: %s', ([rule, request, allowed]) => {
  expect(ruleAllows(rule, request)).toBe(allowed);
});

test.for<[Rule, Rule, boolean]>([
  [on('*', '*'), on('get,list', 'pods,pods/log'), true],
  [on('get', 'pods'), on('*', 'pods'), false],
  [on('get', 'pods'), on('get', '*'), false],
  [on('get', 'pods', 'a,b'), on('get', 'pods', 'a'), true],
  [on('get', 'pods', 'a'), on('get', 'pods'), false],
  [on('get', '*/status'), on('get', 'pods/status'), true],
  [on('get', '*/status'), on('get', 'pods'), false],
  [
    { verbs: ['get'], nonResourceURLs: ['/x/*'] },
    { verbs: ['get'], nonResourceURLs: ['/x/*', '/x/y/*'] },
    true,
  ],
  [{ verbs: ['get'], nonResourceURLs: ['/x'] }, { verbs: ['get'], nonResourceURLs: ['/x/*'] }, false],
  [on('*', '*'), { verbs: ['get'], nonResourceURLs: ['/x'] }, false],
])('%j covers %j: %s', ([held, wanted, covered]) => {
  expect(permissionsOf(wanted).every((one) => ruleCovers(held, one))).toBe(covered);
});

test('permissions on one resource are described together', () => {
  const all = [on('get,list', 'pods,nodes'), on('get', 'pods', 'a')].flatMap(permissionsOf);
  expect(describePermissions(all)).toEqual([
    '{APIGroups:[""], Resources:["nodes"], Verbs:["get" "list"]}',
    '{APIGroups:[""], Resources:["pods"], ResourceNames:["a"], Verbs:["get"]}',
    '{APIGroups:[""], Resources:["pods"], Verbs:["get" "list"]}',
  ]);
});
