import {
  type Faults,
  invalid,
  invalidEach,
  oneOf,
  required,
  tooLong,
} from '../../../kube/validation/field-error.ts';
import { nodeSelector } from '../../../kube/validation/affinity.ts';
import { labelValueRule } from '../../../kube/validation/name-rules.ts';
import { labelName } from '../../../kube/validation/shared.ts';
import {
  isObject,
  type JsonObject,
  objectAt,
  objectsAt,
  sameJson,
  stringAt,
  textOf,
} from '../../../apimachinery/json.ts';
import { ownMember } from '../../../base/own.ts';
import { boundedList, boundedMap, distinctList } from './bounded.ts';
import { bindingFaults } from './device-bindings.ts';
import { capacityRule } from './device-capacity.ts';
import { labelFaults, qualifiedFaults, subdomainFaults } from './device-names.ts';
import { deviceTaintEffects } from './device-requests.ts';

const most = { values: 32, entries: 48, taints: 16, consumptions: 2, counters: 32 } as const;
const longest = { value: 64, key: 96, counter: 63 } as const;

const version =
  /^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-(0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*)(\.(0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*))*)?(\+[0-9a-zA-Z-]+(\.[0-9a-zA-Z-]+)*)?$/;

function* attributeFaults(field: string, attribute: JsonObject): Faults {
  const size = (key: string): number => Buffer.byteLength(stringAt(attribute, key));
  if (size('string') > longest.value) yield tooLong(`${field}.string`, longest.value);
  if (attribute['version'] !== undefined) {
    const text = stringAt(attribute, 'version');
    if (!version.test(text))
      yield invalid(`${field}.version`, text, 'must be a string compatible with semver.org spec 2.0.0');
    if (size('version') > longest.value) yield tooLong(`${field}.version`, longest.value);
  }
  const values = ['bool', 'int', 'string', 'version'].filter(
    (key) => ownMember(attribute, key) !== undefined,
  );
  const why = 'exactly one value must be specified';
  if (values.length === 0) yield invalid(field, '', why);
  else if (values.length > 1) yield invalid(field, shownAttribute(attribute), why);
}

/** Returns an attribute as messages print it. */
const shownAttribute = (attribute: JsonObject): JsonObject => ({
  IntValue: attribute['int'] ?? null,
  BoolValue: attribute['bool'] ?? null,
  StringValue: attribute['string'] ?? null,
  VersionValue: attribute['version'] ?? null,
  IntValues: null,
  BoolValues: null,
  StringValues: null,
  VersionValues: null,
});

function* taintFaults(field: string, taint: JsonObject): Faults {
  yield* labelName(`${field}.key`, stringAt(taint, 'key'));
  const [value, effect] = [stringAt(taint, 'value'), stringAt(taint, 'effect')];
  if (value !== '') yield* invalidEach(`${field}.value`, value, labelValueRule(value));
  if (effect === '') yield required(`${field}.effect`);
  else yield* oneOf(`${field}.effect`, effect, deviceTaintEffects);
}

function* anything(): Faults {
  // Every quantity is a valid counter.
}

/** Validates counters by name. */
export function* counterFaults(field: string, holder: JsonObject): Faults {
  const counters = objectAt(holder, 'counters');
  if (Object.keys(counters).length === 0) yield required(`${field}.counters`);
  else
    yield* boundedMap(`${field}.counters`, counters, {
      most: most.counters,
      longestKey: longest.counter,
      keyRule: labelFaults,
      rule: anything,
    });
}

function* consumptionFaults(field: string, consumption: JsonObject): Faults {
  const name = stringAt(consumption, 'counterSet');
  if (name === '') yield required(`${field}.counterSet`);
  else yield* labelFaults(`${field}.counterSet`, name);
  yield* counterFaults(field, consumption);
}

/** Validates at which nodes a device of a slice is, where each device says so itself. */
function* placeFaults(field: string, device: JsonObject): Faults {
  const { nodeName, nodeSelector: selector, allNodes } = device;
  const fields: string[] = [];
  if (nodeName === '') yield invalid(`${field}.nodeName`, '', 'must not be empty');
  else if (nodeName !== undefined) {
    fields.push('`nodeName`');
    yield* subdomainFaults(`${field}.nodeName`, textOf(nodeName));
  }
  if (isObject(selector)) {
    fields.push('`nodeSelector`');
    yield* nodeSelector(`${field}.nodeSelector`, selector);
  }
  if (allNodes === true) fields.push('`allNodes`');
  else if (allNodes !== undefined)
    yield invalid(`${field}.allNodes`, allNodes, 'must be either unset or set to true');
  const why =
    'exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required when `perDeviceNodeSelection` is set to true in the ResourceSlice spec';
  if (fields.length === 0) yield required(field, why);
  else if (fields.length > 1) yield invalid(field, `{${fields.join(', ')}}`, why);
}

const placeKeys = ['nodeName', 'nodeSelector', 'allNodes'];

/** Returns how many values the attributes of a device have. */
const sizesOf = (device: JsonObject): readonly [attributes: number, capacities: number] => [
  Object.keys(objectAt(device, 'attributes')).length,
  Object.keys(objectAt(device, 'capacity')).length,
];

function* sizeFaults(field: string, device: JsonObject): Faults {
  const [attributes, capacities] = sizesOf(device);
  if (attributes + capacities > most.values)
    yield invalid(
      field,
      attributes + capacities,
      `the total number of attributes and capacities must not exceed ${most.values}`,
    );
  if (attributes > most.entries)
    yield invalid(field, attributes, `the total number of attribute values must not exceed ${most.entries}`);
}

const unlimited = { most: Infinity, longestKey: longest.key, keyRule: qualifiedFaults };

/** How a device of a slice is validated. */
export interface DeviceContext {
  /** The device of that name before the change; absent: it is new. */
  readonly old?: JsonObject | undefined;
  /** Whether each device of the slice says at which nodes it is. */
  readonly isPlaced: boolean;
}

/** Validates a device. Follows Kubernetes `validateDevice` (pkg/apis/resource/validation, v1.36). */
export function* deviceFaults(field: string, device: JsonObject, { old, isPlaced }: DeviceContext): Faults {
  yield* labelFaults(`${field}.name`, stringAt(device, 'name'));
  yield* sizeFaults(field, device);
  yield* boundedMap(`${field}.attributes`, objectAt(device, 'attributes'), {
    ...unlimited,
    rule: attributeFaults,
  });
  yield* boundedMap(`${field}.capacity`, objectAt(device, 'capacity'), {
    ...unlimited,
    rule: capacityRule(device['allowMultipleAllocations'] === true),
  });
  if (!old || !sameJson(old['taints'] ?? [], device['taints'] ?? []))
    yield* boundedList(`${field}.taints`, objectsAt(device, 'taints'), most.taints, taintFaults);
  yield* distinctList(`${field}.consumesCounters`, objectsAt(device, 'consumesCounters'), {
    most: most.consumptions,
    rule: consumptionFaults,
    keyOf: (one) => stringAt(one, 'counterSet'),
  });
  if (isPlaced) yield* placeFaults(field, device);
  else if (placeKeys.some((key) => ownMember(device, key) !== undefined))
    yield invalid(
      field,
      null,
      '`nodeName`, `nodeSelector` and `allNodes` can only be set if `perDeviceNodeSelection` is set to true in the ResourceSlice spec',
    );
  yield* bindingFaults(field, device);
}
