import { describe, expect, test } from 'vitest';
import { AuditPolicy } from '../../../src/apiserver/filters/audit-policy.ts';
import type { Attributes } from '../../../src/apiserver/authorization/attributes.ts';

const policy = (...rules: readonly object[]): object => ({
  apiVersion: 'audit.k8s.io/v1',
  kind: 'Policy',
  rules,
});
const asked = (more: Partial<Attributes> = {}): Attributes => ({
  user: { name: 'jane', groups: ['dev', 'system:authenticated'] },
  verb: 'get',
  group: '',
  resource: 'pods',
  subresource: '',
  namespace: 'a',
  name: 'p',
  ...more,
});
const levelOf = (value: unknown, at: Attributes): string => AuditPolicy.of(value).configFor(at).level;

test('the first rule that fits decides; what no rule fits is not recorded', () => {
  const value = policy(
    { level: 'None', users: ['system:kube-proxy'], verbs: ['watch'] },
    { level: 'RequestResponse', resources: [{ group: '', resources: ['pods'] }], namespaces: ['a'] },
    { level: 'Metadata', userGroups: ['dev'], nonResourceURLs: ['/healthz*', '/version'] },
  );
  expect(levelOf(value, asked())).toBe('RequestResponse');
  expect(levelOf(value, asked({ verb: 'watch', user: { name: 'system:kube-proxy', groups: [] } }))).toBe(
    'None',
  );
  expect(levelOf(value, asked({ namespace: 'b' }))).toBe('None');
  expect(levelOf(value, asked({ path: '/healthz/ping', resource: '' }))).toBe('Metadata');
  expect(levelOf(value, asked({ path: '/version', resource: '' }))).toBe('Metadata');
  expect(levelOf(value, asked({ path: '/version', user: { name: 'x', groups: [] } }))).toBe('None');
  expect(levelOf(value, asked({ path: '/metrics', resource: '' }))).toBe('None');
});

describe('resources of a rule', () => {
  const fits = (resources: object, at: Partial<Attributes>): boolean =>
    levelOf(policy({ level: 'Metadata', resources: [resources] }), asked(at)) === 'Metadata';

  test.each([
    [{ group: '', resources: ['pods'] }, {}, true],
    [{ group: '', resources: ['pods'] }, { subresource: 'log' }, false],
    [{ group: '', resources: ['pods/log'] }, { subresource: 'log' }, true],
    [{ group: '', resources: ['pods/*'] }, { subresource: 'log' }, true],
    [{ group: '', resources: ['*/log'] }, { subresource: 'log' }, true],
    [{ group: '', resources: ['*'] }, { subresource: 'log' }, true],
    [{ group: '' }, { resource: 'secrets' }, true],
    [{ group: 'apps' }, {}, false],
    [{ group: '', resources: ['pods'], resourceNames: ['p'] }, {}, true],
    [{ group: '', resources: ['pods'], resourceNames: ['q'] }, {}, false],
  ])('%j and %j: %j', (resources, at, expected) => {
    expect(fits(resources, at)).toBe(expected);
  });
});

test('stages and managed fields: those of the policy and those of the rule', () => {
  const value = {
    ...policy({
      level: 'Request',
      omitStages: ['ResponseStarted'],
      omitManagedFields: false,
      verbs: ['get'],
    }),
    omitStages: ['RequestReceived'],
    omitManagedFields: true,
  };
  const parsed = AuditPolicy.of(value);
  const of = parsed.configFor(asked());
  expect([...of.omitStages].sort()).toEqual(['RequestReceived', 'ResponseStarted']);
  expect(of.omitManagedFields).toBe(false);
});

test.each([
  [policy(), 'loaded illegal policy with 0 rules'],
  [policy({}), 'rules[0].level: Required value'],
  [
    policy({ level: 'All' }),
    'rules[0].level: Unsupported value: "All": supported values: "None", "Metadata", "Request", "RequestResponse"',
  ],
  [
    policy({ level: 'None', omitStages: ['Begin'] }),
    'rules[0].omitStages[0]: Invalid value: "Begin": allowed stages are RequestReceived,ResponseStarted,ResponseComplete,Panic',
  ],
  [
    policy({ level: 'None', nonResourceURLs: ['a*b'] }),
    `[rules[0].nonResourceURLs[0]: Invalid value: "a*b": non-resource URL rules must begin with a '/' character, rules[0].nonResourceURLs[0]: Invalid value: "a*b": non-resource URL wildcards '*' must be the final character of the rule]`,
  ],
  [
    policy({ level: 'None', resources: [{ group: '', resourceNames: ['a'] }] }),
    'rules[0].resources.resourceNames: Invalid value: ["a"]: using resourceNames requires at least one resource',
  ],
  [
    policy({ level: 'None', nonResourceURLs: ['/a'], namespaces: ['b'] }),
    'rules[0].nonResourceURLs: Invalid value: ["/a"]: rules cannot apply to both regular resources and non-resource URLs',
  ],
  [policy({ level: 'None', users: 'jane' }), 'rules[0].users is "jane": a list is expected'],
  [{ apiVersion: 'audit.k8s.io/v1beta1', kind: 'Policy' }, 'a Policy of audit.k8s.io/v1 is expected'],
  [{ kind: 'Policy' }, "Object 'apiVersion' is missing"],
  ['text', 'the policy is "text": an object is expected'],
])('%j is refused', (value, why) => {
  expect(() => AuditPolicy.of(value)).toThrow(why);
});

test('unknown fields are warned of', () => {
  const value = { ...policy({ level: 'Metadata', verb: ['get'] }), extra: 1 };
  expect(AuditPolicy.of(value).warnings).toEqual(['unknown field "extra"', 'unknown field "rules[0].verb"']);
});
