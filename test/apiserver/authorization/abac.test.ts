import { expect, test } from 'vitest';
import { PolicyListMode } from '../../../src/apiserver/authorization/abac.ts';
import type { Attributes } from '../../../src/apiserver/authorization/attributes.ts';

const v1beta1 = (spec: object): string =>
  JSON.stringify({ apiVersion: 'abac.authorization.kubernetes.io/v1beta1', kind: 'Policy', spec });
const asked = (more: Partial<Attributes> = {}): Attributes => ({
  user: { name: 'jane', groups: ['dev', 'system:authenticated'] },
  verb: 'get',
  group: '',
  resource: 'pods',
  subresource: '',
  namespace: 'a',
  name: '',
  ...more,
});
const isAllowed = (line: string, at: Partial<Attributes> = {}): boolean =>
  new PolicyListMode(line, 'policies').decide(asked(at)).verdict === 'allow';

test.each([
  [{ user: 'jane', namespace: 'a', resource: 'pods' }, {}, true],
  [{ user: 'jane', namespace: 'b', resource: 'pods' }, {}, false],
  [{ user: 'jane', namespace: '*', resource: '*', apiGroup: '*' }, { group: 'apps' }, true],
  [{ user: 'jane', namespace: '*', resource: '*' }, { group: 'apps' }, false],
  [{ user: 'jane', namespace: '*', resource: '*', readonly: true }, { verb: 'create' }, false],
  [{ user: 'jane', namespace: '*', resource: '*', readonly: true }, { verb: 'watch' }, true],
  [{ user: 'jane', group: 'ops', namespace: '*', resource: '*' }, {}, false],
  [{ group: 'dev', namespace: '*', resource: '*' }, {}, true],
  [{ user: '*', namespace: '*', resource: '*' }, {}, true],
  [{ user: '*', namespace: '*', resource: '*' }, { user: { name: 'x', groups: [] } }, false],
  [{ namespace: '*', resource: '*' }, {}, false],
  [{ user: 'jane', nonResourcePath: '/healthz*' }, { path: '/healthz/ping' }, true],
  [{ user: 'jane', nonResourcePath: '*' }, {}, false],
  [{ user: 'jane', namespace: '*', resource: '*' }, { path: '/version' }, false],
])('%j and %j: %j', (spec, at, expected) => {
  expect(isAllowed(v1beta1(spec), at)).toBe(expected);
});

test('in lines without a version, what is left out means everything', () => {
  expect(isAllowed('{}', { group: 'apps', verb: 'delete' })).toBe(true);
  expect(isAllowed('{}', { path: '/version' })).toBe(true);
  expect(isAllowed('{"user":"jane","resource":"pods"}', { path: '/version' })).toBe(false);
  expect(isAllowed('{"user":"jane","resource":"pods"}', { namespace: 'z' })).toBe(true);
  expect(isAllowed('{"user":"joe"}')).toBe(false);
});

test('comments and empty lines are left out; rules are those of the policies', () => {
  const mode = new PolicyListMode(
    `# all\n\n${v1beta1({ group: 'dev', namespace: '*', resource: 'pods', readonly: true, nonResourcePath: '/version' })}\n`,
    'f',
  );
  expect(mode.decide(asked({ verb: 'create' }))).toEqual({ verdict: 'none', reason: 'No policy matched.' });
  const verbs = ['get', 'list', 'watch'];
  expect(mode.rules(asked().user, 'a')).toEqual({
    rules: [
      { verbs, apiGroups: [''], resources: ['pods'] },
      { verbs, nonResourceURLs: ['/version'] },
    ],
    errors: [],
  });
});

test.each([
  [
    '{',
    /error reading policy file f, line 2: \{: couldn't get version\/kind; json parse error: unexpected end/,
  ],
  ['{"apiVersion":"v1","kind":"Pod"}', /line 2: .*no kind "Pod" is registered for version "v1"/],
  ['{"user":7}', /line 2: .*user: a string is expected/],
])('%s is refused with its line', (line, why) => {
  expect(() => new PolicyListMode(`{}\n${line}`, 'f')).toThrow(why);
});
