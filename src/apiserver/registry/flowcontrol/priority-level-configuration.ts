import {
  type Faults,
  forbidden,
  invalid,
  required,
  unsupported,
} from '../../../kube/validation/field-error.ts';
import {
  isObject,
  type JsonObject,
  metadataOf,
  nameOf,
  objectAt,
  specOf,
  stringAt,
} from '../../../apimachinery/json.ts';
import { builtIn } from '../../../apimachinery/kinds.ts';
import { strategyOf } from '../kind-strategy.ts';
import type { Strategy } from '../strategy.ts';
import { numberAt } from '../validation/value-rules.ts';
import { conditionFaults } from './flow-schema.ts';

const mostQueues = 10_000_000;
/** Bits of the hash that deals the queues of a flow. */
const hashBits = 60;

const orElse = (value: unknown, fallback: number): unknown => (value === 0 ? fallback : (value ?? fallback));

function queuingDefaults(queuing: JsonObject): JsonObject {
  return {
    ...queuing,
    handSize: orElse(queuing['handSize'], 8),
    queues: orElse(queuing['queues'], 64),
    queueLengthLimit: orElse(queuing['queueLengthLimit'], 50),
  };
}

function defaults(level: JsonObject): JsonObject {
  const spec = specOf(level);
  const { exempt, limited } = spec;
  const response = objectAt(objectAt(spec, 'limited'), 'limitResponse');
  const queuing = response['queuing'];
  return {
    ...level,
    spec: {
      ...spec,
      ...(isObject(exempt) && { exempt: { nominalConcurrencyShares: 0, lendablePercent: 0, ...exempt } }),
      ...(isObject(limited) && {
        limited: {
          nominalConcurrencyShares: 30,
          lendablePercent: 0,
          ...limited,
          limitResponse: { ...response, ...(isObject(queuing) && { queuing: queuingDefaults(queuing) }) },
        },
      }),
    },
  };
}

function* shareFaults(field: string, level: JsonObject): Faults {
  const shares = numberAt(level, 'nominalConcurrencyShares', 0);
  if (shares < 0)
    yield invalid(`${field}.nominalConcurrencyShares`, shares, 'must be a non-negative integer');
}

function* lendable(field: string, level: JsonObject): Faults {
  const percent = numberAt(level, 'lendablePercent', 0);
  if (percent < 0 || percent > 100)
    yield invalid(`${field}.lendablePercent`, percent, 'must be between 0 and 100, inclusive');
}

function* queuingFaults(field: string, queuing: JsonObject): Faults {
  const [limit, queues, hand] = ['queueLengthLimit', 'queues', 'handSize'].map((key) =>
    numberAt(queuing, key, 0),
  ) as [number, number, number];
  if (limit <= 0) yield invalid(`${field}.queueLengthLimit`, limit, 'must be positive');
  if (queues <= 0) yield invalid(`${field}.queues`, queues, 'must be positive');
  else if (queues > mostQueues)
    yield invalid(`${field}.queues`, queues, `must not be greater than ${mostQueues}`);
  const entropy = Math.ceil(Math.log2(queues) * hand);
  if (hand <= 0) yield invalid(`${field}.handSize`, hand, 'must be positive');
  else if (hand > queues)
    yield invalid(`${field}.handSize`, hand, `should not be greater than queues (${queues})`);
  else if (entropy > hashBits)
    yield invalid(
      `${field}.handSize`,
      hand,
      `required entropy bits of deckSize ${queues} and handSize ${hand} should not be greater than ${hashBits}`,
    );
}

function* responseFaults(field: string, response: JsonObject): Faults {
  const { type, queuing } = response;
  if (type === 'Reject') {
    if (queuing !== undefined)
      yield forbidden(`${field}.queuing`, 'must be nil if limited.limitResponse.type is not Limited');
  } else if (type !== 'Queue') yield unsupported(`${field}.type`, type, ['Queue', 'Reject']);
  else if (isObject(queuing)) yield* queuingFaults(`${field}.queuing`, queuing);
  else yield required(`${field}.queuing`, 'must not be empty if limited.limitResponse.type is Limited');
}

function* limitedFaults(field: string, limited: JsonObject): Faults {
  yield* shareFaults(field, limited);
  yield* responseFaults(`${field}.limitResponse`, objectAt(limited, 'limitResponse'));
  yield* lendable(field, limited);
  const borrowing = numberAt(limited, 'borrowingLimitPercent', 0);
  if (borrowing < 0)
    yield invalid(
      `${field}.borrowingLimitPercent`,
      borrowing,
      'if specified, must be a non-negative integer',
    );
}

function* typeFaults(spec: JsonObject): Faults {
  const { type, limited, exempt } = spec;
  if (type === 'Exempt') {
    if (limited !== undefined) yield forbidden('spec.limited', 'must be nil if the type is not Limited');
    yield* shareFaults('spec.exempt', objectAt(spec, 'exempt'));
    yield* lendable('spec.exempt', objectAt(spec, 'exempt'));
  } else if (type === 'Limited') {
    if (exempt !== undefined) yield forbidden('spec.exempt', 'must be nil if the type is Limited');
    if (isObject(limited)) yield* limitedFaults('spec.limited', limited);
    else yield required('spec.limited', 'must not be empty when type is Limited');
  } else yield unsupported('spec.type', type, ['Exempt', 'Limited']);
}

const zeroShares = 'flowcontrol.k8s.io/v1beta3-preserve-zero-concurrency-shares';

/** Validates a priority level. Follows Kubernetes `ValidatePriorityLevelConfiguration` (pkg/apis/flowcontrol/validation, v1.36). */
function* faults(level: JsonObject): Faults {
  const spec = specOf(level);
  if (Object.hasOwn(objectAt(metadataOf(level), 'annotations'), zeroShares))
    yield forbidden('metadata.annotations', `annotation '${zeroShares}' is forbidden`);
  const type = stringAt(spec, 'type');
  if ((nameOf(level) === 'exempt') !== (type === 'Exempt'))
    yield invalid('spec.type', type, "must be 'Exempt' if and only if `name` is 'exempt'");
  yield* typeFaults(spec);
  yield* conditionFaults(level);
}

/** Strategy of priority levels. */
export const priorityLevelStrategy: Strategy = strategyOf(
  builtIn('prioritylevelconfigurations', 'flowcontrol.apiserver.k8s.io'),
  {
    defaults,
    faults,
    metadataChecks: ['whole'],
    status: { faults: conditionFaults, frozenMetadata: 'all' },
  },
);
