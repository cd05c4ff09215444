import { describe, expect, it } from 'vitest';
import {
  matchConditionFault,
  MatchConditions,
} from '../../../../src/apiserver/cel/admission/match-conditions.ts';

const conditions = (...expressions: readonly string[]): MatchConditions =>
  MatchConditions.of({
    matchConditions: expressions.map((expression, i) => ({ name: `c${i}`, expression })),
  });
const request = {
  operation: 'CREATE',
  name: 'web',
  namespace: 'shop',
  resource: { group: '', version: 'v1', resource: 'pods' },
  userInfo: { username: 'eve', groups: ['system:authenticated'] },
};
const object = { metadata: { name: 'web', labels: { team: 'red' } }, spec: { replicas: 3 } };

describe('match conditions', () => {
  it('match when there are none, or all are true', () => {
    expect(conditions().evaluate({ request })).toEqual({ matches: true });
    const all = conditions(
      'object.spec.replicas > 2',
      "request.userInfo.username != 'kubelet'",
      'oldObject == null',
    );
    expect(all.evaluate({ object, request })).toEqual({ matches: true });
  });

  it('do not match when one is false, even if another cannot be evaluated', () => {
    const some = conditions(
      'object.spec.missing == 1',
      "!('system:authenticated' in request.userInfo.groups)",
    );
    expect(some.evaluate({ object, request })).toEqual({ matches: false, failedCondition: 'c1' });
  });

  it('leave it to the failure policy when one cannot be evaluated and the others are true', () => {
    expect(conditions('true', 'object.spec.missing == 1').evaluate({ object, request })).toEqual({
      error: "expression 'object.spec.missing == 1' resulted in error: no such key: missing",
    });
    const two = conditions('object.a == 1', 'object.b == 1');
    expect(two.evaluate({ object, request })).toEqual({
      error:
        "[expression 'object.a == 1' resulted in error: no such key: a, expression 'object.b == 1' resulted in error: no such key: b]",
    });
  });

  it('ask the authorizer about the user of the request', () => {
    const seen: unknown[] = [];
    const authorizer = {
      decide: (check: unknown) => {
        seen.push(check);
        return { allowed: true, reason: 'rbac' };
      },
      resource: { group: '', resource: 'pods', subresource: '', namespace: 'shop', name: 'web' },
    };
    const asks = conditions(
      "authorizer.requestResource.check('breakglass').allowed()",
      "authorizer.serviceAccount('shop', 'default').group('apps').resource('deployments').subresource('scale').namespace('a').name('b').check('patch').reason() == 'rbac'",
    );
    expect(asks.evaluate({ object, request, authorizer })).toEqual({ matches: true });
    expect(seen).toEqual([
      {
        verb: 'breakglass',
        group: '',
        resource: 'pods',
        subresource: '',
        namespace: 'shop',
        name: 'web',
        fieldSelector: '',
        labelSelector: '',
      },
      {
        verb: 'patch',
        user: {
          name: 'system:serviceaccount:shop:default',
          groups: ['system:serviceaccounts', 'system:serviceaccounts:shop'],
        },
        group: 'apps',
        resource: 'deployments',
        subresource: 'scale',
        namespace: 'a',
        name: 'b',
        fieldSelector: '',
        labelSelector: '',
      },
    ]);
  });

  it('end when they cost too much: a third check exceeds the limit of one expression', () => {
    const authorizer = {
      decide: () => ({ allowed: true, reason: '' }),
      resource: { group: '', resource: 'pods', subresource: '', namespace: '', name: '' },
    };
    const check = "authorizer.path('/metrics').check('get').allowed()";
    expect(conditions(`${check} && ${check} && ${check}`).evaluate({ request, authorizer })).toMatchObject({
      error: expect.stringContaining('operation cancelled: actual cost limit exceeded') as string,
    });
  });

  it('are refused with the words of kube-apiserver', () => {
    expect(matchConditionFault('object.spec.replicas')).toBe('must evaluate to bool but got dyn');
    expect(matchConditionFault('request.nope')).toBe(
      "compilation failed: ERROR: <input>:1:8: undefined field 'nope'\n | request.nope\n | .......^",
    );
    expect(matchConditionFault('params.x == 1')).toContain(
      "undeclared reference to 'params' (in container '')",
    );
    expect(matchConditionFault('object.x == 1')).toBeUndefined();
  });
});
