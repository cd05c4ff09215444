import { duplicate, type Faults, invalid, oneOf, unsupported } from '../../../kube/validation/field-error.ts';
import {
  type JsonObject,
  listAt,
  metadataOf,
  objectsAt,
  sameJson,
  specOf,
  stringAt,
  textOf,
  withMetadata,
  without,
} from '../../../apimachinery/json.ts';
import { builtIn } from '../../../apimachinery/kinds.ts';
import { strategyOf } from '../kind-strategy.ts';
import type { Strategy } from '../strategy.ts';
import { immutable, numberAt } from '../validation/value-rules.ts';

const modes = ['Persistent', 'Ephemeral'];
const groupPolicies = ['File', 'None', 'ReadWriteOnceWithFSType'];
const [shortestToken, longestToken] = [600, 2 ** 32];

function defaults(driver: JsonObject): JsonObject {
  const spec = specOf(driver);
  return {
    ...driver,
    spec: {
      attachRequired: true,
      podInfoOnMount: false,
      storageCapacity: false,
      fsGroupPolicy: 'ReadWriteOnceWithFSType',
      requiresRepublish: false,
      seLinuxMount: false,
      ...spec,
      volumeLifecycleModes:
        listAt(spec, 'volumeLifecycleModes').length > 0 ? spec['volumeLifecycleModes'] : ['Persistent'],
    },
  };
}

function* tokenFaults(field: string, requests: readonly JsonObject[]): Faults {
  const audiences = new Set<string>();
  for (const [i, request] of requests.entries()) {
    const audience = stringAt(request, 'audience');
    const seconds = numberAt(request, 'expirationSeconds');
    if (audiences.has(audience)) {
      yield duplicate(`${field}[${i}].audience`, audience);
      continue;
    }
    audiences.add(audience);
    const at = `${field}[${i}].expirationSeconds`;
    if (seconds === undefined) continue;
    if (seconds < shortestToken)
      yield invalid(at, seconds, 'may not specify a duration less than 10 minutes');
    if (seconds > longestToken)
      yield invalid(at, seconds, 'may not specify a duration larger than 2^32 seconds');
  }
}

/** Validates a driver. Follows Kubernetes `validateCSIDriverSpec` (pkg/apis/storage/validation, v1.36). */
function* faults(driver: JsonObject, old: JsonObject | undefined): Faults {
  const spec = specOf(driver);
  const requests = objectsAt(spec, 'tokenRequests');
  yield* oneOf('spec.fsGroupPolicy', stringAt(spec, 'fsGroupPolicy'), groupPolicies);
  yield* tokenFaults('spec.tokenRequests', requests);
  for (const mode of listAt(spec, 'volumeLifecycleModes').map(textOf))
    if (!modes.includes(mode)) yield unsupported('spec.volumeLifecycleModes', mode, modes);
  const period = numberAt(spec, 'nodeAllocatableUpdatePeriodSeconds');
  if (period !== undefined && period < 10)
    yield invalid(
      'spec.nodeAllocatableUpdatePeriodSeconds',
      period,
      'must be greater than or equal to 10 seconds',
    );
  const secrets = spec['serviceAccountTokenInSecrets'];
  if (secrets !== undefined && requests.length === 0)
    yield invalid(
      'spec.serviceAccountTokenInSecrets',
      secrets,
      'serviceAccountTokenInSecrets is set but no tokenRequests are specified',
    );
  if (!old) return;
  // the path in the message has this spelling
  yield* immutable('spec.attachedRequired', spec['attachRequired'], specOf(old)['attachRequired']);
  yield* immutable(
    'spec.volumeLifecycleModes',
    spec['volumeLifecycleModes'],
    specOf(old)['volumeLifecycleModes'],
  );
}

const exposed =
  'spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set to true to prevent possible logging of tokens in volume attributes';

/** Drops the field of the gate VolumeLimitScaling, which is off, and counts changes of the spec, which begin with 0. */
function prepare(driver: JsonObject, old: JsonObject | undefined): JsonObject {
  const next = { ...driver, spec: without(specOf(driver), 'preventPodSchedulingIfMissing') };
  if (!old || sameJson(specOf(next), specOf(old))) return next;
  return withMetadata(next, { generation: Number(metadataOf(old)['generation'] ?? 0) + 1 });
}

/** Strategy of CSI drivers. */
export const csiDriverStrategy: Strategy = strategyOf(builtIn('csidrivers', 'storage.k8s.io'), {
  defaults,
  prepare,
  faults,
  warnings: (driver, old) => {
    const { tokenRequests, serviceAccountTokenInSecrets: set } = specOf(driver);
    const changed = !old || !sameJson(tokenRequests, specOf(old)['tokenRequests']);
    return changed && tokenRequests !== undefined && set === undefined ? [exposed] : [];
  },
});
