import { networkPolicyStrategy } from '../../../../src/apiserver/registry/networking/network-policy.ts';
import { testKind } from '../one-kind.ts';

testKind(networkPolicyStrategy, {
  created: [
    [
      { spec: { podSelector: {} } },
      { metadata: { generation: 1 }, spec: { podSelector: {}, policyTypes: ['Ingress'] } },
    ],
    [{ spec: {} }, { metadata: { generation: 1 }, spec: { podSelector: {}, policyTypes: ['Ingress'] } }],
    [
      { spec: { podSelector: {}, egress: [{ ports: [{ port: 80 }] }] } },
      {
        metadata: { generation: 1 },
        spec: {
          podSelector: {},
          egress: [{ ports: [{ port: 80, protocol: 'TCP' }] }],
          policyTypes: ['Ingress', 'Egress'],
        },
      },
    ],
  ],
  rejected: [
    [
      { spec: { podSelector: { matchLabels: { 'a b': 'c' } } } },
      [
        "spec.podSelector.matchLabels: Invalid value: \"a b\": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
      ],
    ],
    [
      {
        spec: {
          podSelector: {},
          ingress: [{ ports: [{ port: 80, endPort: 90 }, { port: 'http' }, { protocol: 'X' }] }],
        },
      },
      ['spec.ingress[0].ports[2].protocol: Unsupported value: "X": supported values: "TCP", "UDP", "SCTP"'],
    ],
    [
      {
        spec: {
          podSelector: {},
          ingress: [
            {
              ports: [
                { port: 80, endPort: 70 },
                { port: 99999 },
                { port: 'A_', endPort: 3 },
                { endPort: 3 },
                { port: 1, endPort: 99999 },
              ],
            },
          ],
        },
      },
      [
        'spec.ingress[0].ports[0].endPort: Invalid value: 80: must be greater than or equal to `port`',
        'spec.ingress[0].ports[1].port: Invalid value: 99999: must be between 1 and 65535, inclusive',
        'spec.ingress[0].ports[2].endPort: Invalid value: 3: may not be specified when `port` is non-numeric',
        'spec.ingress[0].ports[2].port: Invalid value: "A_": must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)',
        'spec.ingress[0].ports[2].port: Invalid value: "A_": must contain at least one letter (a-z)',
        'spec.ingress[0].ports[3].endPort: Invalid value: 3: may not be specified when `port` is not specified',
        'spec.ingress[0].ports[4].endPort: Invalid value: 99999: must be between 1 and 65535, inclusive',
      ],
    ],
    [
      {
        spec: {
          podSelector: {},
          ingress: [
            {
              from: [
                {},
                { podSelector: {}, ipBlock: { cidr: '10.0.0.0/8' } },
                { ipBlock: {} },
                { ipBlock: { cidr: 'x' } },
                { ipBlock: { cidr: '10.0.0.0/8', except: ['11.0.0.0/9', '10.0.0.0/8', 'x', '10.1.0.0/16'] } },
                { podSelector: { matchExpressions: [{ key: 'a', operator: 'Is' }] } },
                { namespaceSelector: {} },
              ],
            },
          ],
        },
      },
      [
        'spec.ingress[0].from[0]: Required value: must specify a peer',
        'spec.ingress[0].from[1]: Forbidden: may not specify both ipBlock and another peer',
        'spec.ingress[0].from[2].ipBlock.cidr: Required value',
        'spec.ingress[0].from[3].ipBlock.cidr: Invalid value: "x": must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)',
        'spec.ingress[0].from[4].ipBlock.except[0]: Invalid value: "11.0.0.0/9": must be a strict subset of `cidr`',
        'spec.ingress[0].from[4].ipBlock.except[1]: Invalid value: "10.0.0.0/8": must be a strict subset of `cidr`',
        'spec.ingress[0].from[4].ipBlock.except[2]: Invalid value: "x": must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)',
        'spec.ingress[0].from[5].podSelector.matchExpressions[0].operator: Invalid value: "Is": not a valid selector operator',
      ],
    ],
    [
      {
        spec: {
          podSelector: {},
          egress: [
            {
              to: [
                { ipBlock: { cidr: '2001:db8::/32', except: ['2001:db8:1::/48', '10.0.0.0/9'] } },
                { ipBlock: { cidr: '010.0.0.0/8' } },
                { ipBlock: { cidr: '10.0.0.5/8' } },
              ],
            },
          ],
        },
      },
      [
        'spec.egress[0].to[0].ipBlock.except[1]: Invalid value: "10.0.0.0/9": must be a strict subset of `cidr`',
        'spec.egress[0].to[1].ipBlock.cidr: Invalid value: "010.0.0.0/8": must not have leading 0s in IP or prefix length',
        'spec.egress[0].to[2].ipBlock.cidr: Invalid value: "10.0.0.5/8": must not have bits set beyond the prefix length',
      ],
    ],
    [
      { spec: { podSelector: {}, policyTypes: ['x', 'Egress'] } },
      ['spec.policyTypes[0]: Unsupported value: "x": supported values: "Ingress", "Egress"'],
    ],
    [
      { spec: { podSelector: {}, policyTypes: ['Ingress', 'Egress', 'x'] } },
      [
        'spec.policyTypes: Invalid value: ["Ingress","Egress","x"]: may not specify more than two policyTypes',
      ],
    ],
  ],
  updates: {
    of: { spec: { podSelector: {} } },
    patches: [
      [{ spec: { egress: [{}] } }, '', 2],
      [
        { spec: { ingress: [{ from: [{}] }] } },
        '',
        ['spec.ingress[0].from[0]: Required value: must specify a peer'],
      ],
    ],
  },
});
