import {
  duplicate,
  type Faults,
  invalid,
  invalidEach,
  required,
} from '../../../kube/validation/field-error.ts';
import { qualifiedNameRule } from '../../../kube/validation/name-rules.ts';
import {
  type JsonObject,
  listAt,
  objectAt,
  objectsAt,
  specOf,
  stringAt,
  textOf,
  without,
} from '../../../apimachinery/json.ts';
import { builtIn } from '../../../apimachinery/kinds.ts';
import { strategyOf } from '../kind-strategy.ts';
import type { Strategy } from '../strategy.ts';
import { immutable, nonNegatives } from '../validation/value-rules.ts';
import { driverName } from '../../../kube/validation/shared.ts';

const longestId = 256;

function* driverFaults(field: string, driver: JsonObject, names: Set<string>): Faults {
  const [name, id] = [stringAt(driver, 'name'), stringAt(driver, 'nodeID')];
  yield* driverName(`${field}.name`, name);
  if (id === '') yield required(`${field}.nodeID`);
  if (Buffer.byteLength(id) > longestId)
    yield invalid(`${field}.nodeID`, id, `must be ${longestId} characters or less`);
  yield* nonNegatives(`${field}.allocatable`, objectAt(driver, 'allocatable'), 'count');
  if (names.has(name)) yield duplicate(`${field}.name`, name);
  names.add(name);
  const keys = new Set<string>();
  for (const key of listAt(driver, 'topologyKeys').map(textOf)) {
    if (key === '') yield required(field);
    if (keys.has(key)) yield duplicate(field, key);
    keys.add(key);
    yield* invalidEach(field, key, qualifiedNameRule(key));
  }
}

/** Returns a driver as messages print it, without what may change. */
const shown = (driver: JsonObject): unknown => ({
  Name: driver['name'],
  NodeID: driver['nodeID'],
  TopologyKeys: driver['topologyKeys'] ?? null,
  Allocatable: null,
});

/** Validates a node's drivers. Follows Kubernetes `ValidateCSINodeUpdate` (pkg/apis/storage/validation, v1.36). */
function* faults(node: JsonObject, old: JsonObject | undefined): Faults {
  const drivers = objectsAt(specOf(node), 'drivers');
  const names = new Set<string>();
  for (const [i, driver] of drivers.entries()) yield* driverFaults(`spec.drivers[${i}]`, driver, names);
  for (const before of objectsAt(specOf(old), 'drivers'))
    for (const now of drivers.filter((one) => one['name'] === before['name']))
      yield* immutable(
        'spec.drivers',
        without(now, 'allocatable'),
        without(before, 'allocatable'),
        shown(now),
      );
}

/** Strategy of the drivers of a node: an existing one changes only what is allocatable. */
export const csiNodeStrategy: Strategy = strategyOf(builtIn('csinodes', 'storage.k8s.io'), {
  faults,
  metadataChecks: ['whole'],
});
