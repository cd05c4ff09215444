import { serviceCidrStrategy } from '../../../../src/apiserver/registry/networking/service-cidr.ts';
import { testKind } from '../one-kind.ts';

testKind(serviceCidrStrategy, {
  created: [[{ spec: { cidrs: ['10.98.0.0/24'] } }, { spec: { cidrs: ['10.98.0.0/24'] }, status: {} }]],
  rejected: [
    [{ spec: {} }, ['spec.cidrs: Required value: at least one CIDR required']],
    [{ spec: { cidrs: [] } }, ['spec.cidrs: Required value: at least one CIDR required']],
    [
      { spec: { cidrs: ['x'] } },
      ['spec.cidrs[0]: Invalid value: "x": must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)'],
    ],
    [
      { spec: { cidrs: ['10.1.0.0/24', '10.2.0.0/24'] } },
      [
        'spec.cidrs: Invalid value: ["10.1.0.0/24","10.2.0.0/24"]: may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64',
      ],
    ],
    [
      { spec: { cidrs: ['10.1.0.0/24', '10.2.0.0/24', '10.3.0.0/24'] } },
      [
        'spec.cidrs: Invalid value: {"CIDRs":["10.1.0.0/24","10.2.0.0/24","10.3.0.0/24"]}: may only hold up to 2 values',
      ],
    ],
  ],
  updates: {
    of: { spec: { cidrs: ['10.98.0.0/24'] } },
    patches: [
      [
        { spec: { cidrs: ['10.98.1.0/24'] } },
        '',
        ['spec.cidrs[0]: Invalid value: "10.98.1.0/24": field is immutable'],
      ],
      [{ spec: { cidrs: ['10.98.0.0/24', '2001:db8::/64'] } }, '', 0],
      [
        { spec: { cidrs: ['10.98.0.0/24'] } },
        '',
        ['spec.cidrs: Invalid value: ["10.98.0.0/24"]: field is immutable'],
      ],
    ],
  },
});
