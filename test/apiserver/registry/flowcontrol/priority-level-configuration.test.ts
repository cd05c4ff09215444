import { priorityLevelStrategy } from '../../../../src/apiserver/registry/flowcontrol/priority-level-configuration.ts';
import { testKind } from '../one-kind.ts';

testKind(priorityLevelStrategy, {
  created: [
    [
      { spec: { type: 'Limited', limited: { limitResponse: { type: 'Reject' } } } },
      {
        metadata: { generation: 1 },
        spec: {
          type: 'Limited',
          limited: { nominalConcurrencyShares: 30, lendablePercent: 0, limitResponse: { type: 'Reject' } },
        },
        status: {},
      },
    ],
    [
      { spec: { type: 'Limited', limited: { limitResponse: { type: 'Queue', queuing: {} } } } },
      {
        metadata: { generation: 1 },
        spec: {
          type: 'Limited',
          limited: {
            nominalConcurrencyShares: 30,
            lendablePercent: 0,
            limitResponse: { type: 'Queue', queuing: { queues: 64, handSize: 8, queueLengthLimit: 50 } },
          },
        },
        status: {},
      },
    ],
  ],
  rejected: [
    [{ spec: {} }, ['spec.type: Unsupported value: "": supported values: "Exempt", "Limited"']],
    [
      { spec: { type: 'Exempt' } },
      ["spec.type: Invalid value: \"Exempt\": must be 'Exempt' if and only if `name` is 'exempt'"],
    ],
    [{ spec: { type: 'Limited' } }, ['spec.limited: Required value: must not be empty when type is Limited']],
    [
      { spec: { type: 'Limited', exempt: {}, limited: { limitResponse: { type: 'x' } } } },
      [
        'spec.exempt: Forbidden: must be nil if the type is Limited',
        'spec.limited.limitResponse.type: Unsupported value: "x": supported values: "Queue", "Reject"',
      ],
    ],
    [
      { spec: { type: 'Limited', limited: { limitResponse: { type: 'Queue' } } } },
      [
        'spec.limited.limitResponse.queuing: Required value: must not be empty if limited.limitResponse.type is Limited',
      ],
    ],
    [
      { spec: { type: 'Limited', limited: { limitResponse: { type: 'Reject', queuing: {} } } } },
      [
        'spec.limited.limitResponse.queuing: Forbidden: must be nil if limited.limitResponse.type is not Limited',
      ],
    ],
    [
      {
        spec: {
          type: 'Limited',
          limited: {
            nominalConcurrencyShares: -1,
            lendablePercent: 101,
            borrowingLimitPercent: -1,
            limitResponse: { type: 'Queue', queuing: { queues: -1, handSize: -1, queueLengthLimit: -1 } },
          },
        },
      },
      [
        'spec.limited.nominalConcurrencyShares: Invalid value: -1: must be a non-negative integer',
        'spec.limited.limitResponse.queuing.queueLengthLimit: Invalid value: -1: must be positive',
        'spec.limited.limitResponse.queuing.queues: Invalid value: -1: must be positive',
        'spec.limited.limitResponse.queuing.handSize: Invalid value: -1: must be positive',
        'spec.limited.lendablePercent: Invalid value: 101: must be between 0 and 100, inclusive',
        'spec.limited.borrowingLimitPercent: Invalid value: -1: if specified, must be a non-negative integer',
      ],
    ],
    [
      {
        spec: {
          type: 'Limited',
          limited: { limitResponse: { type: 'Queue', queuing: { queues: 10000001, handSize: 30 } } },
        },
      },
      [
        'spec.limited.limitResponse.queuing.queues: Invalid value: 10000001: must not be greater than 10000000',
        'spec.limited.limitResponse.queuing.handSize: Invalid value: 30: required entropy bits of deckSize 10000001 and handSize 30 should not be greater than 60',
      ],
    ],
    [
      { spec: { type: 'Limited', limited: { limitResponse: { type: 'Queue', queuing: { queues: 4 } } } } },
      [
        'spec.limited.limitResponse.queuing.handSize: Invalid value: 8: should not be greater than queues (4)',
      ],
    ],
    [
      {
        spec: {
          type: 'Limited',
          limited: { limitResponse: { type: 'Queue', queuing: { queues: 1000, handSize: 9 } } },
        },
      },
      [
        'spec.limited.limitResponse.queuing.handSize: Invalid value: 9: required entropy bits of deckSize 1000 and handSize 9 should not be greater than 60',
      ],
    ],
    [
      { spec: { type: 'Limited', limited: {} } },
      ['spec.limited.limitResponse.type: Unsupported value: "": supported values: "Queue", "Reject"'],
    ],
  ],
  updates: {
    of: { spec: { type: 'Limited', limited: { limitResponse: { type: 'Reject' } } } },
    patches: [
      [{ spec: { limited: { nominalConcurrencyShares: 3 } } }, '', 2],
      [{ status: { conditions: [{ type: 'A', status: 'True' }] } }, 'status', 2],
    ],
  },
});
