import { type Faults, invalid, required } from '../../../kube/validation/field-error.ts';
import { nodeSelector } from '../../../kube/validation/affinity.ts';
import { internalForm } from '../../../kube/validation/internal-spec.ts';
import { goQuote } from '../../../go/go-quote.ts';
import {
  isObject,
  type JsonObject,
  objectAt,
  objectsAt,
  specOf,
  stringAt,
  textOf,
  without,
} from '../../../apimachinery/json.ts';
import { builtIn } from '../../../apimachinery/kinds.ts';
import { seconds } from '../../../apimachinery/times.ts';
import type { WriteContext } from '../../request/write-context.ts';
import { strategyOf } from '../kind-strategy.ts';
import type { Strategy } from '../strategy.ts';
import { driverName } from '../../../kube/validation/shared.ts';
import { immutable, numberAt } from '../validation/value-rules.ts';
import { distinctList } from './bounded.ts';
import { counterFaults, deviceFaults } from './devices.ts';
import { labelFaults, poolName, subdomainFaults } from './device-names.ts';

const most = { devices: 128, elaborateDevices: 64, counterSets: 8 } as const;

function* poolFaults(field: string, pool: JsonObject): Faults {
  yield* poolName(`${field}.name`, stringAt(pool, 'name'));
  const [slices, generation] = [numberAt(pool, 'resourceSliceCount', 0), numberAt(pool, 'generation', 0)];
  if (slices <= 0) yield invalid(`${field}.resourceSliceCount`, slices, 'must be greater than zero');
  if (generation < 0)
    yield invalid(`${field}.generation`, generation, 'must be greater than or equal to zero');
}

function* selectorFaults(selector: JsonObject): Faults {
  const field = 'spec.nodeSelector';
  yield* nodeSelector(field, selector);
  const terms = objectsAt(selector, 'nodeSelectorTerms');
  if (terms.length !== 1)
    yield invalid(
      `${field}.nodeSelectorTerms`,
      selector['nodeSelectorTerms'] === undefined
        ? null
        : terms.map((term) => internalForm('NodeTerm', term)),
      'must have exactly one node selector term',
    );
}

/** Validates at which nodes the devices of a slice are. */
function* placeFaults(spec: JsonObject): Faults {
  const { nodeName, nodeSelector: selector } = spec;
  const fields: string[] = [];
  if (nodeName === '')
    yield invalid('spec.nodeName', '', 'must be either unset or set to a non-empty string');
  else if (nodeName !== undefined) {
    fields.push('`nodeName`');
    yield* subdomainFaults('spec.nodeName', textOf(nodeName));
  }
  if (isObject(selector)) {
    fields.push('`nodeSelector`');
    yield* selectorFaults(selector);
  }
  for (const key of ['allNodes', 'perDeviceNodeSelection'] as const) {
    if (spec[key] === true) fields.push(`\`${key}\``);
    else if (spec[key] !== undefined)
      yield invalid(`spec.${key}`, spec[key], 'must be either unset or set to true');
  }
  const why = 'exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required';
  if (fields.length === 0) yield required('spec', why);
  else if (fields.length > 1)
    yield invalid('spec', `{${fields.join(', ')}}`, `${why}, but multiple fields are set`);
}

function* counterSet(field: string, set: JsonObject): Faults {
  const name = stringAt(set, 'name');
  if (name === '') yield required(`${field}.name`);
  else yield* labelFaults(`${field}.name`, name);
  yield* counterFaults(field, set);
}

const isElaborate = (device: JsonObject): boolean =>
  objectsAt(device, 'taints').length > 0 || objectsAt(device, 'consumesCounters').length > 0;
const nameOf = (item: JsonObject): string => stringAt(item, 'name');

/** Validates a slice. Follows Kubernetes `validateResourceSliceSpec` (pkg/apis/resource/validation, v1.36). */
function* faults(slice: JsonObject, old: JsonObject | undefined): Faults {
  const [spec, before] = [specOf(slice), specOf(old)];
  const [pool, poolBefore] = [objectAt(spec, 'pool'), objectAt(before, 'pool')];
  yield* driverName('spec.driver', stringAt(spec, 'driver'));
  yield* poolFaults('spec.pool', pool);
  if (old) {
    yield* immutable('spec.pool.name', pool['name'], poolBefore['name']);
    yield* immutable('spec.driver', spec['driver'], before['driver']);
    yield* immutable('spec.nodeName', spec['nodeName'], before['nodeName']);
  }
  yield* placeFaults(spec);
  if (spec['sharedCounters'] !== undefined && spec['devices'] !== undefined)
    yield invalid('spec', '', 'only one of `sharedCounters` or `devices` is allowed');
  const devices = objectsAt(spec, 'devices');
  yield* distinctList('spec.devices', devices, {
    most: devices.some(isElaborate) ? most.elaborateDevices : most.devices,
    rule: (field, device) =>
      deviceFaults(field, device, {
        old: objectsAt(before, 'devices').find((one) => nameOf(one) === nameOf(device)),
        isPlaced: spec['perDeviceNodeSelection'] === true,
      }),
    keyOf: nameOf,
  });
  yield* distinctList('spec.sharedCounters', objectsAt(spec, 'sharedCounters'), {
    most: most.counterSets,
    rule: counterSet,
    keyOf: nameOf,
  });
}

/** Returns the slice with its devices changed. */
function withDevices(slice: JsonObject, change: (device: JsonObject) => JsonObject): JsonObject {
  const spec = specOf(slice);
  if (!Array.isArray(spec['devices'])) return slice;
  return { ...slice, spec: { ...spec, devices: objectsAt(spec, 'devices').map(change) } };
}

/** Lists of values, whose gate DRAListTypeAttributes is off. */
const listValues = ['ints', 'bools', 'strings', 'versions'];

/** Drops the fields of gates that are off, and sets since when devices have their taints. */
function prepare(slice: JsonObject, _old: JsonObject | undefined, { now }: WriteContext): JsonObject {
  return withDevices(slice, (device) => {
    const next: JsonObject = without(device, 'nodeAllocatableResourceMappings');
    const taints = objectsAt(device, 'taints').map((taint) => ({
      ...taint,
      timeAdded: taint['timeAdded'] ?? seconds(now),
    }));
    const attributes = Object.entries(objectAt(device, 'attributes')).map(([key, value]) => [
      key,
      isObject(value) ? without(value, ...listValues) : value,
    ]);
    return {
      ...next,
      ...(attributes.length > 0 && { attributes: Object.fromEntries(attributes) as JsonObject }),
      ...(taints.length > 0 && { taints }),
    };
  });
}

const warnings = (slice: JsonObject): readonly string[] => {
  const driver = stringAt(specOf(slice), 'driver');
  return driver === driver.toLowerCase()
    ? []
    : [`spec.driver: driver names should be lowercase; ${goQuote(driver)} contains uppercase characters`];
};

/** Strategy of slices: lists of devices of one pool. */
export const resourceSliceStrategy: Strategy = strategyOf(builtIn('resourceslices', 'resource.k8s.io'), {
  counted: specOf,
  prepare,
  faults,
  warnings,
});
