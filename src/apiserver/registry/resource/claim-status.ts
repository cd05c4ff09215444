import {
  duplicate,
  type Faults,
  forbidden,
  invalid,
  oneOf,
  required,
  tooLong,
  tooMany,
} from '../../../kube/validation/field-error.ts';
import { nodeSelector } from '../../../kube/validation/affinity.ts';
import { internalForm } from '../../../kube/validation/internal-spec.ts';
import { ownMember } from '../../../base/own.ts';
import {
  canonicalJson,
  isObject,
  type JsonObject,
  listAt,
  metadataOf,
  objectAt,
  objectsAt,
  sameJson,
  specOf,
  statusOf,
  stringAt,
  textOf,
} from '../../../apimachinery/json.ts';
import { driverName } from '../../../kube/validation/shared.ts';
import { boundedList, distinctList } from './bounded.ts';
import { bindingFaults } from './device-bindings.ts';
import { conditionsFaults } from '../validation/condition-rules.ts';
import { labelFaults, poolName, uuidFaults } from './device-names.ts';
import {
  configurationFaults,
  opaqueObject,
  requestNames,
  requestReference,
  requestReferences,
} from './device-requests.ts';
import { interfaceAddress } from './interface-address.ts';

const most = { reservations: 256, results: 32, configs: 64, conditions: 8, addresses: 16 } as const;
const longest = { interfaceName: 256, hardwareAddress: 128 } as const;

/** Returns what identifies an allocated device: driver, pool, device, and the share of it. */
export const deviceIdOf = (device: JsonObject): string =>
  ['driver', 'pool', 'device', 'shareID']
    .map((key) => stringAt(device, key))
    .filter((part, i) => i < 3 || part !== '')
    .join('/');

/** Returns the devices that are allocated to a claim. */
export const allocatedTo = (claim: JsonObject | undefined): ReadonlySet<string> =>
  new Set(objectsAt(objectAt(objectAt(statusOf(claim), 'allocation'), 'devices'), 'results').map(deviceIdOf));

function* reservation(field: string, user: JsonObject): Faults {
  for (const key of ['resource', 'name', 'uid'])
    if (stringAt(user, key) === '') yield required(`${field}.${key}`);
}

function* networkData(field: string, data: unknown): Faults {
  if (!isObject(data)) return;
  for (const [key, bytes] of Object.entries(longest))
    if (Buffer.byteLength(stringAt(data, key)) > bytes) yield tooLong(`${field}.${key}`, bytes);
  yield* distinctList(`${field}.ips`, listAt(data, 'ips').map(textOf), {
    most: most.addresses,
    rule: interfaceAddress,
    keyOf: (address) => address,
  });
}

const idParts = ['driver', 'pool', 'device', 'shareID'] as const;

/** Returns the identity of a device as messages print it. */
const shownId = (device: JsonObject): JsonObject =>
  Object.fromEntries(
    idParts.map((key) => [`${key[0]?.toUpperCase() ?? ''}${key.slice(1)}`, stringAt(device, key)]),
  );

function* deviceStatus(field: string, device: JsonObject, allocated: ReadonlySet<string>): Faults {
  yield* driverName(`${field}.driver`, stringAt(device, 'driver'));
  yield* poolName(`${field}.pool`, stringAt(device, 'pool'));
  yield* labelFaults(`${field}.device`, stringAt(device, 'device'));
  const share = ownMember(device, 'shareID');
  if (share !== undefined) yield* uuidFaults(`${field}.shareID`, textOf(share));
  if (!allocated.has(deviceIdOf(device)))
    yield invalid(field, shownId(device), 'must be an allocated device in the claim');
  const conditions = objectsAt(device, 'conditions');
  if (conditions.length > most.conditions)
    yield tooMany(`${field}.conditions`, conditions.length, most.conditions);
  yield* conditionsFaults(`${field}.conditions`, conditions);
  if (device['data'] !== undefined) yield* opaqueObject(`${field}.data`, device['data']);
  yield* networkData(`${field}.networkData`, device['networkData']);
}

function* resultFaults(field: string, result: JsonObject, names: ReadonlySet<string>): Faults {
  yield* requestReference(names)(`${field}.request`, stringAt(result, 'request'));
  yield* driverName(`${field}.driver`, stringAt(result, 'driver'));
  yield* poolName(`${field}.pool`, stringAt(result, 'pool'));
  yield* labelFaults(`${field}.device`, stringAt(result, 'device'));
  yield* bindingFaults(field, result);
  const share = ownMember(result, 'shareID');
  if (share !== undefined) yield* uuidFaults(`${field}.shareID`, textOf(share));
}

const sources = ['FromClaim', 'FromClass'];

function* allocationFaults(field: string, allocation: JsonObject, names: ReadonlySet<string>): Faults {
  const devices = objectAt(allocation, 'devices');
  const at = `${field}.devices`;
  yield* boundedList(`${at}.results`, objectsAt(devices, 'results'), most.results, (path, one) =>
    resultFaults(path, one, names),
  );
  yield* boundedList(
    `${at}.config`,
    objectsAt(devices, 'config'),
    most.configs,
    function* (path, config): Faults {
      const source = stringAt(config, 'source');
      if (source === '') yield required(`${path}.source`);
      else yield* oneOf(`${path}.source`, source, sources);
      yield* requestReferences(`${path}.requests`, config, names);
      yield* configurationFaults(path, config);
    },
  );
  if (isObject(allocation['nodeSelector']))
    yield* nodeSelector(`${field}.nodeSelector`, allocation['nodeSelector']);
}

/** Validates the consumers of a claim: it must be allocated, and none is added once it is being deleted. */
function* reservationFaults(claim: JsonObject, old: JsonObject): Faults {
  const reservations = objectsAt(statusOf(claim), 'reservedFor');
  if (reservations.length === 0) return;
  const field = 'status.reservedFor';
  if (!isObject(statusOf(claim)['allocation'])) {
    yield forbidden(field, 'may not be specified when `allocated` is not set');
    return;
  }
  const before = new Set(objectsAt(statusOf(old), 'reservedFor').map(canonicalJson));
  const isDeleted = metadataOf(claim)['deletionTimestamp'] !== undefined;
  if (isDeleted && reservations.some((one) => !before.has(canonicalJson(one))))
    yield forbidden(
      field,
      'new entries may not be added while `deallocationRequested` or `deletionTimestamp` are set',
    );
}

/** Validates a change of a claim's status. Follows Kubernetes `validateResourceClaimStatusUpdate` (pkg/apis/resource/validation, v1.36). */
export function* claimStatusFaults(claim: JsonObject, old: JsonObject): Faults {
  const status = statusOf(claim);
  yield* distinctList('status.reservedFor', objectsAt(status, 'reservedFor'), {
    most: most.reservations,
    rule: reservation,
    keyOf: (user) => stringAt(user, 'uid'),
  });
  const allocated = allocatedTo(claim);
  yield* deviceStatuses(objectsAt(status, 'devices'), allocated);
  yield* reservationFaults(claim, old);
  const [allocation, before] = [status['allocation'], statusOf(old)['allocation']];
  if (!isObject(allocation)) return;
  const field = 'status.allocation';
  if (!isObject(before)) yield* allocationFaults(field, allocation, requestNames(specOf(claim)));
  else if (!sameJson(allocation, before))
    yield invalid(field, internalForm('Allocation', allocation), 'field is immutable');
}

function* deviceStatuses(devices: readonly JsonObject[], allocated: ReadonlySet<string>): Faults {
  for (const [i, device] of devices.entries()) yield* deviceStatus(`status.devices[${i}]`, device, allocated);
  const ids = new Set<string>();
  for (const [i, device] of devices.entries()) {
    const id = deviceIdOf(device);
    if (ids.has(id)) yield duplicate(`status.devices[${i}]`, shownId(device));
    ids.add(id);
  }
}

/** Returns a claim without the statuses of devices that are not allocated to it any more. */
export function withoutDeallocated(claim: JsonObject, old: JsonObject): JsonObject {
  const status = statusOf(claim);
  if (!Array.isArray(status['devices'])) return claim;
  const [now, before] = [allocatedTo(claim), allocatedTo(old)];
  const devices = objectsAt(status, 'devices').filter((device) => {
    const id = deviceIdOf(device);
    return now.has(id) || !before.has(id);
  });
  const { devices: _d, ...rest } = status;
  return { ...claim, status: devices.length > 0 ? { ...rest, devices } : rest };
}
