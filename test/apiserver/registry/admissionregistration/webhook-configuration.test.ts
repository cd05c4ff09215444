import { mutatingWebhooksStrategy } from '../../../../src/apiserver/registry/admissionregistration/webhook-configuration.ts';
import { expect, test } from 'vitest';
import { OneKind, testKind } from '../one-kind.ts';

testKind(mutatingWebhooksStrategy, {
  created: [
    [
      {
        webhooks: [
          {
            name: 'a.b.c',
            clientConfig: { url: 'https://127.0.0.1:1/x' },
            sideEffects: 'None',
            admissionReviewVersions: ['v1'],
          },
        ],
      },
      {
        metadata: { generation: 1 },
        webhooks: [
          {
            failurePolicy: 'Fail',
            matchPolicy: 'Equivalent',
            namespaceSelector: {},
            objectSelector: {},
            timeoutSeconds: 10,
            reinvocationPolicy: 'Never',
            name: 'a.b.c',
            clientConfig: { url: 'https://127.0.0.1:1/x' },
            sideEffects: 'None',
            admissionReviewVersions: ['v1'],
          },
        ],
      },
    ],
    [
      {
        webhooks: [
          {
            name: 'a.b.c',
            clientConfig: { service: { name: 'a', namespace: 'b' } },
            sideEffects: 'None',
            admissionReviewVersions: ['v1'],
            rules: [
              { operations: ['CREATE'], apiGroups: ['nope.x'], apiVersions: ['v1'], resources: ['nopes'] },
            ],
          },
        ],
      },
      {
        metadata: { generation: 1 },
        webhooks: [
          {
            failurePolicy: 'Fail',
            matchPolicy: 'Equivalent',
            namespaceSelector: {},
            objectSelector: {},
            timeoutSeconds: 10,
            reinvocationPolicy: 'Never',
            name: 'a.b.c',
            clientConfig: { service: { port: 443, name: 'a', namespace: 'b' } },
            sideEffects: 'None',
            admissionReviewVersions: ['v1'],
            rules: [
              {
                operations: ['CREATE'],
                apiGroups: ['nope.x'],
                apiVersions: ['v1'],
                resources: ['nopes'],
                scope: '*',
              },
            ],
          },
        ],
      },
    ],
    [{}, { metadata: { generation: 1 } }],
    [
      {
        webhooks: [
          {
            name: 'a.b.c',
            clientConfig: { url: 'https://127.0.0.1:1/x' },
            sideEffects: 'None',
            admissionReviewVersions: ['v1'],
            rules: [
              { operations: ['CREATE'], apiGroups: ['nope.x'], apiVersions: ['v1'], resources: ['nopes'] },
            ],
          },
        ],
      },
      {
        metadata: { generation: 1 },
        webhooks: [
          {
            failurePolicy: 'Fail',
            matchPolicy: 'Equivalent',
            namespaceSelector: {},
            objectSelector: {},
            timeoutSeconds: 10,
            reinvocationPolicy: 'Never',
            name: 'a.b.c',
            clientConfig: { url: 'https://127.0.0.1:1/x' },
            sideEffects: 'None',
            admissionReviewVersions: ['v1'],
            rules: [
              {
                operations: ['CREATE'],
                apiGroups: ['nope.x'],
                apiVersions: ['v1'],
                resources: ['nopes'],
                scope: '*',
              },
            ],
          },
        ],
      },
    ],
  ],
  rejected: [
    [
      { webhooks: [{}] },
      [
        'webhooks[0].name: Required value',
        'webhooks[0].sideEffects: Required value: must specify one of None, NoneOnDryRun',
        'webhooks[0].clientConfig: Required value: exactly one of url or service is required',
        'webhooks[0].admissionReviewVersions: Required value: must specify one of v1, v1beta1',
      ],
    ],
    [
      {
        webhooks: [
          {
            name: 'a.b',
            clientConfig: { url: 'https://127.0.0.1:1/x' },
            sideEffects: 'None',
            admissionReviewVersions: ['v1'],
          },
        ],
      },
      [
        'webhooks[0].name: Invalid value: "a.b": should be a domain with at least three segments separated by dots',
      ],
    ],
    [
      {
        webhooks: [
          {
            name: 'A_',
            clientConfig: { url: 'https://127.0.0.1:1/x' },
            sideEffects: 'None',
            admissionReviewVersions: ['v1'],
          },
        ],
      },
      [
        "webhooks[0].name: Invalid value: \"A_\": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
      ],
    ],
    [
      {
        webhooks: [
          {
            name: 'a.b.c',
            clientConfig: { url: 'https://127.0.0.1:1/x' },
            sideEffects: 'Some',
            admissionReviewVersions: ['v1'],
            failurePolicy: 'x',
            matchPolicy: 'y',
            timeoutSeconds: 31,
            reinvocationPolicy: 'z',
          },
        ],
      },
      [
        'webhooks[0].failurePolicy: Unsupported value: "x": supported values: "Fail", "Ignore"',
        'webhooks[0].matchPolicy: Unsupported value: "y": supported values: "Equivalent", "Exact"',
        'webhooks[0].sideEffects: Unsupported value: "Some": supported values: "None", "NoneOnDryRun"',
        'webhooks[0].timeoutSeconds: Invalid value: 31: the timeout value must be between 1 and 30 seconds',
        'webhooks[0].reinvocationPolicy: Unsupported value: "z": supported values: "IfNeeded", "Never"',
      ],
    ],
    [
      {
        webhooks: [
          { name: 'a.b.c', clientConfig: { url: 'https://127.0.0.1:1/x' }, admissionReviewVersions: ['v1'] },
        ],
      },
      ['webhooks[0].sideEffects: Required value: must specify one of None, NoneOnDryRun'],
    ],
    [
      {
        webhooks: [
          {
            name: 'a.b.c',
            clientConfig: { url: 'https://127.0.0.1:1/x' },
            sideEffects: 'None',
            admissionReviewVersions: [],
          },
        ],
      },
      ['webhooks[0].admissionReviewVersions: Required value: must specify one of v1, v1beta1'],
    ],
    [
      {
        webhooks: [
          {
            name: 'a.b.c',
            clientConfig: { url: 'https://127.0.0.1:1/x' },
            sideEffects: 'None',
            admissionReviewVersions: ['v2', 'v2', 'A_'],
          },
        ],
      },
      [
        'webhooks[0].admissionReviewVersions[1]: Invalid value: "v2": duplicate version',
        "webhooks[0].admissionReviewVersions[2]: Invalid value: \"A_\": a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')",
        'webhooks[0].admissionReviewVersions: Invalid value: ["v2","v2","A_"]: must include at least one of v1, v1beta1',
      ],
    ],
    [
      {
        webhooks: [{ name: 'a.b.c', clientConfig: {}, sideEffects: 'None', admissionReviewVersions: ['v1'] }],
      },
      ['webhooks[0].clientConfig: Required value: exactly one of url or service is required'],
    ],
    [
      {
        webhooks: [
          {
            name: 'a.b.c',
            clientConfig: { url: 'http://u:p@/x?y#z' },
            sideEffects: 'None',
            admissionReviewVersions: ['v1'],
          },
        ],
      },
      [
        'webhooks[0].clientConfig.url: Invalid value: "http": \'https\' is the only allowed URL scheme; desired format: https://host[/path]',
        'webhooks[0].clientConfig.url: Invalid value: "": host must be specified; desired format: https://host[/path]',
        'webhooks[0].clientConfig.url: Invalid value: "u:p": user information is not permitted in the URL',
        'webhooks[0].clientConfig.url: Invalid value: "z": fragments are not permitted in the URL',
        'webhooks[0].clientConfig.url: Invalid value: "y": query parameters are not permitted in the URL',
      ],
    ],
    [
      {
        webhooks: [
          { name: 'a.b.c', clientConfig: { url: ':' }, sideEffects: 'None', admissionReviewVersions: ['v1'] },
        ],
      },
      [
        'webhooks[0].clientConfig.url: Required value: url must be a valid URL: parse ":": missing protocol scheme; desired format: https://host[/path]',
      ],
    ],
    [
      {
        webhooks: [
          {
            name: 'a.b.c',
            clientConfig: { url: 'https://x', service: { name: 'a', namespace: 'b' } },
            sideEffects: 'None',
            admissionReviewVersions: ['v1'],
          },
        ],
      },
      ['webhooks[0].clientConfig: Required value: exactly one of url or service is required'],
    ],
    [
      {
        webhooks: [
          {
            name: 'a.b.c',
            clientConfig: { service: { path: 'x//A_/', port: 99999 } },
            sideEffects: 'None',
            admissionReviewVersions: ['v1'],
          },
        ],
      },
      [
        'webhooks[0].clientConfig.service.name: Required value',
        'webhooks[0].clientConfig.service.namespace: Required value',
        'webhooks[0].clientConfig.service.port: Invalid value: 99999: port is not valid: must be between 1 and 65535, inclusive',
        'webhooks[0].clientConfig.service.path: Invalid value: "x//A_/": must start with a \'/\'',
        'webhooks[0].clientConfig.service.path: Invalid value: "x//A_/": segment[0] may not be empty',
        'webhooks[0].clientConfig.service.path: Invalid value: "x//A_/": segment[1] may not be empty',
        "webhooks[0].clientConfig.service.path: Invalid value: \"x//A_/\": segment[2]: a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
      ],
    ],
    [
      {
        webhooks: [
          {
            name: 'a.b.c',
            clientConfig: { service: { name: 'a', namespace: 'b', path: '//' } },
            sideEffects: 'None',
            admissionReviewVersions: ['v1'],
          },
        ],
      },
      ['webhooks[0].clientConfig.service.path: Invalid value: "//": segment[0] may not be empty'],
    ],
    [
      {
        webhooks: [
          {
            name: 'a.b.c',
            clientConfig: { url: 'https://127.0.0.1:1/x' },
            sideEffects: 'None',
            admissionReviewVersions: ['v1'],
            rules: [
              {},
              {
                operations: ['*', 'X'],
                apiGroups: ['*', 'a'],
                apiVersions: ['*', ''],
                resources: ['a/*', 'a/b', '*/c', 'd/c', '*/*', '*', 'e', ''],
                scope: 'x',
              },
            ],
          },
        ],
      },
      [
        'webhooks[0].rules[0].operations: Required value',
        'webhooks[0].rules[0].apiGroups: Required value',
        'webhooks[0].rules[0].apiVersions: Required value',
        'webhooks[0].rules[0].resources: Required value',
        'webhooks[0].rules[1].operations: Invalid value: ["*","X"]: if \'*\' is present, must not specify other operations',
        'webhooks[0].rules[1].operations[1]: Unsupported value: "X": supported values: "*", "CONNECT", "CREATE", "DELETE", "UPDATE"',
        'webhooks[0].rules[1].apiGroups: Invalid value: ["*","a"]: if \'*\' is present, must not specify other API groups',
        'webhooks[0].rules[1].apiVersions: Invalid value: ["*",""]: if \'*\' is present, must not specify other API versions',
        'webhooks[0].rules[1].apiVersions[1]: Required value',
        'webhooks[0].rules[1].resources[1]: Invalid value: "a/b": if \'a/*\' is present, must not specify a/b',
        'webhooks[0].rules[1].resources[3]: Invalid value: "d/c": if \'*/c\' is present, must not specify d/c',
        'webhooks[0].rules[1].resources[7]: Required value',
        'webhooks[0].rules[1].resources: Invalid value: ["a/*","a/b","*/c","d/c","*/*","*","e",""]: if \'*/*\' is present, must not specify other resources',
        'webhooks[0].rules[1].resources: Invalid value: ["a/*","a/b","*/c","d/c","*/*","*","e",""]: if \'*\' is present, must not specify other resources without subresources',
        'webhooks[0].rules[1].scope: Unsupported value: "x": supported values: "*", "Cluster", "Namespaced"',
      ],
    ],
    [
      {
        webhooks: [
          {
            name: 'a.b.c',
            clientConfig: { url: 'https://127.0.0.1:1/x' },
            sideEffects: 'None',
            admissionReviewVersions: ['v1'],
            rules: [
              { operations: ['CREATE'], apiGroups: ['nope.x'], apiVersions: ['v1'], resources: ['*', 'e'] },
            ],
          },
        ],
      },
      [
        'webhooks[0].rules[0].resources: Invalid value: ["*","e"]: if \'*\' is present, must not specify other resources without subresources',
      ],
    ],
    [
      {
        webhooks: [
          {
            name: 'a.b.c',
            clientConfig: { url: 'https://127.0.0.1:1/x' },
            sideEffects: 'None',
            admissionReviewVersions: ['v1'],
            namespaceSelector: { matchExpressions: [{ key: 'a', operator: 'Is' }] },
            objectSelector: { matchLabels: { 'a b': 'c' } },
          },
        ],
      },
      [
        'webhooks[0].namespaceSelector.matchExpressions[0].operator: Invalid value: "Is": not a valid selector operator',
        "webhooks[0].objectSelector.matchLabels: Invalid value: \"a b\": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
      ],
    ],
    [
      {
        webhooks: [
          {
            name: 'a.b.c',
            clientConfig: { url: 'https://127.0.0.1:1/x' },
            sideEffects: 'None',
            admissionReviewVersions: ['v1'],
            matchConditions: [
              { name: '', expression: ' ' },
              { name: 'a b', expression: 'true' },
              { name: 'a', expression: 'true' },
              { name: 'a', expression: 'true' },
            ],
          },
        ],
      },
      [
        'webhooks[0].matchConditions[0].expression: Required value',
        'webhooks[0].matchConditions[0].name: Required value',
        "webhooks[0].matchConditions[1].name: Invalid value: \"a b\": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
        'webhooks[0].matchConditions[3].name: Duplicate value: "a"',
      ],
    ],
    [
      {
        webhooks: [
          {
            name: 'a.b.c',
            clientConfig: { url: 'https://127.0.0.1:1/x' },
            sideEffects: 'None',
            admissionReviewVersions: ['v1'],
          },
          {
            name: 'a.b.c',
            clientConfig: { url: 'https://127.0.0.1:1/x' },
            sideEffects: 'None',
            admissionReviewVersions: ['v1'],
          },
        ],
      },
      ['webhooks[1].name: Duplicate value: "a.b.c"'],
    ],
  ],
  updates: {
    of: {
      webhooks: [
        {
          name: 'a.b.c',
          clientConfig: { url: 'https://127.0.0.1:1/x' },
          sideEffects: 'None',
          admissionReviewVersions: ['v1'],
          rules: [
            { operations: ['CREATE'], apiGroups: ['nope.x'], apiVersions: ['v1'], resources: ['nopes'] },
          ],
        },
      ],
    },
    patches: [
      [{ webhooks: [] }, '', 2],
      [{ metadata: { labels: { a: 'b' } } }, '', 2],
    ],
  },
});

const conditioned = (...expressions: readonly string[]): object => ({
  webhooks: [
    {
      name: 'a.b.c',
      clientConfig: { url: 'https://127.0.0.1:1/x' },
      sideEffects: 'None',
      admissionReviewVersions: ['v1'],
      matchConditions: expressions.map((expression, i) => ({ name: `m${i}`, expression })),
    },
  ],
});

test('match conditions must compile and evaluate to a bool', () => {
  const one = new OneKind(mutatingWebhooksStrategy);
  const { faults } = one.create({ ...conditioned('object.x == 1', '1 + 1', 'params.x == 1', ' ') });
  expect(faults.map((text) => text.split('\n')[0])).toEqual([
    'webhooks[0].matchConditions[3].expression: Required value',
    'webhooks[0].matchConditions[1].expression: Invalid value: "1 + 1": must evaluate to bool but got int',
    expect.stringMatching(
      /^webhooks\[0\].matchConditions\[2\].expression: Invalid value: .*undeclared reference to 'params'/,
    ),
  ]);
  expect(one.create({ ...conditioned('object.x == 1') }).faults).toEqual([]);
  expect(one.update((standing) => ({ ...standing, ...conditioned('1') })).faults).toEqual([
    'webhooks[0].matchConditions[0].expression: Invalid value: "1": must evaluate to bool but got int',
  ]);
});
