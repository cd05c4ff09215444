import { describe, expect, test } from 'vitest';
import { compileJq } from '../../../src/simulate/stages/jq.ts';

const pod = {
  metadata: { name: 'web', labels: { app: 'web', 'a.b/c': 'x' }, ownerReferences: [{ kind: 'Job' }] },
  spec: { containers: [{ name: 'a' }, { name: 'b' }], n: 3 },
  status: {
    phase: 'Running',
    conditions: [
      { type: 'Ready', status: 'True' },
      { type: 'Initialized', status: 'False' },
    ],
  },
};

describe('expressions', () => {
  test.each([
    ['.', [pod]],
    ['.status.phase', ['Running']],
    ['.status.none.deeper', [null]],
    ['.metadata.labels["a.b/c"]', ['x']],
    ['.metadata.labels."a.b/c"', ['x']],
    ['.spec.containers[1].name', ['b']],
    ['.spec.containers[-1].name', ['b']],
    ['.spec.containers[].name', ['a', 'b']],
    ['.spec.containers.[].name', ['a', 'b']],
    ['.status.conditions.[] | select( .type == "Ready" ) | .status', ['True']],
    ['.status.conditions[] | select(.type == "Ready" and .status != "True") | .type', []],
    ['.metadata.ownerReferences | any(.kind == "Job")', [true]],
    ['.spec.containers | map(.name) | join("-")', ['a-b']],
    ['.status.reason // "none"', ['none']],
    ['[.spec.containers[].name] | length', [2]],
    ['.spec.n * 2 + 1 >= 7', [true]],
    ['.metadata.labels | has("app")', [true]],
    ['.metadata.name | test("^w.b$")', [true]],
    ['.metadata | .name, .labels.app', ['web', 'web']],
    ['(.status.phase == "Pending") or (.spec.n > 2) | not', [false]],
    ['.a?.b?', [null]],
    ['.status.conditions[].type | select(startswith("R"))', ['Ready']],
    ['.metadata.annotations[]', []],
    ['-1', [-1]],
  ])('%s', (expression, outputs) => {
    expect(compileJq(expression)(pod)).toEqual(outputs);
  });

  test.each([
    ['.a |', 'character 5: unexpected the end'],
    ['.a[', 'unexpected the end'],
    ['.a ; .b', 'character 4: unexpected ";"'],
    ['input', 'supported functions are select, map'],
    ['(.a', 'expected ")" instead of the end'],
    ['.a .b )', 'unexpected ")"'],
  ])('%s is rejected with its position', (expression, message) => {
    expect(() => compileJq(expression)).toThrow(message);
  });
});
