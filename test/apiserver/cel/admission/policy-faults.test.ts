import { expect, test } from 'vitest';
import {
  policyExpressionFaults,
  webhookConditionFaults,
} from '../../../../src/apiserver/cel/admission/policy-faults.ts';

const faultsOf = (spec: object): readonly string[] =>
  policyExpressionFaults({ spec }).map(({ field, detail }) => `${field}: ${detail.split('\n')[0] ?? ''}`);

test('expressions of a validating policy must compile, and evaluate to what is expected', () => {
  expect(
    faultsOf({
      variables: [
        { name: 'a', expression: 'object.spec.a' },
        { name: 'b', expression: 'variables.c' },
      ],
      matchConditions: [{ name: 'm', expression: '1' }],
      validations: [
        { expression: 'variables.a == 1', messageExpression: 'authorizer.path("/x").check("get").reason()' },
        { expression: 'params.x == 1' },
      ],
      auditAnnotations: [{ key: 'k', valueExpression: '1' }],
    }),
  ).toEqual([
    'spec.matchConditions[0].expression: must evaluate to bool but got int',
    "spec.variables[1].expression: compilation failed: ERROR: <input>:1:10: undefined field 'c'",
    "spec.validations[0].messageExpression: compilation failed: ERROR: <input>:1:1: undeclared reference to 'authorizer' (in container '')",
    "spec.validations[1].expression: compilation failed: ERROR: <input>:1:1: undeclared reference to 'params' (in container '')",
    'spec.auditAnnotations[0].valueExpression: must evaluate to one of [string null_type] but got int',
  ]);
});

test('mutations make an Object, or a list of JSONPatch', () => {
  const mutations = [
    {
      patchType: 'ApplyConfiguration',
      applyConfiguration: { expression: 'Object{spec: Object.spec{replicas: 1}}' },
    },
    { patchType: 'ApplyConfiguration', applyConfiguration: { expression: 'object' } },
    { patchType: 'JSONPatch', jsonPatch: { expression: '[JSONPatch{op: "add", nope: 1}]' } },
  ];
  expect(faultsOf({ mutations })).toEqual([
    'spec.mutations[1].applyConfiguration.expression: must evaluate to Object but got dyn',
    "spec.mutations[2].jsonPatch.expression: compilation failed: ERROR: <input>:1:27: undefined field 'nope'",
  ]);
});

test('conditions of webhooks', () => {
  const found = webhookConditionFaults(
    {
      matchConditions: [
        { name: 'a', expression: 'true' },
        { name: 'b', expression: '1' },
      ],
    },
    'webhooks[0]',
  );
  expect(found.map(({ field, detail }) => [field, detail])).toEqual([
    ['webhooks[0].matchConditions[1].expression', 'must evaluate to bool but got int'],
  ]);
});

test('a constant part that cannot be evaluated is an internal error', () => {
  const found = policyExpressionFaults({ spec: { validations: [{ expression: 'int("x") == 1' }] } });
  expect(found).toEqual([
    {
      type: 'Internal error',
      field: 'spec.validations[0].expression',
      detail: expect.stringMatching(/^program instantiation failed: /) as string,
    },
  ]);
});

test('only mutations may use jsonpatch.escapeKey', () => {
  const expression = 'jsonpatch.escapeKey("a/b") == "a~1b" ? [JSONPatch{op: "remove", path: "/x"}] : []';
  expect(faultsOf({ mutations: [{ patchType: 'JSONPatch', jsonPatch: { expression } }] })).toEqual([]);
  expect(faultsOf({ validations: [{ expression: 'jsonpatch.escapeKey("a/b") == "a~1b"' }] })).toEqual([
    "spec.validations[0].expression: compilation failed: ERROR: <input>:1:1: undeclared reference to 'jsonpatch' (in container '')",
  ]);
});
