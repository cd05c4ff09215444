import { type Faults, invalid } from '../../../kube/validation/field-error.ts';
import { qualifiedNameRule } from '../../../kube/validation/name-rules.ts';
import { type JsonObject, objectsAt, specOf, textOf } from '../../../apimachinery/json.ts';
import { builtIn } from '../../../apimachinery/kinds.ts';
import { strategyOf } from '../kind-strategy.ts';
import type { Strategy } from '../strategy.ts';
import { boundedList } from './bounded.ts';
import { configurationFaults, deviceSelectorsFaults } from './device-requests.ts';

const mostConfigs = 32;

/** Reports whether a name is that of an extended resource: one with a domain that is not Kubernetes' own. */
const isExtended = (name: string): boolean =>
  name.includes('/') &&
  !name.includes('kubernetes.io/') &&
  !name.startsWith('requests.') &&
  qualifiedNameRule(`requests.${name}`).length === 0;

/** Validates a class of devices. Follows Kubernetes `validateDeviceClassSpec` (pkg/apis/resource/validation, v1.36). */
function* faults(deviceClass: JsonObject): Faults {
  const spec = specOf(deviceClass);
  yield* deviceSelectorsFaults('spec.selectors', spec);
  yield* boundedList('spec.config', objectsAt(spec, 'config'), mostConfigs, configurationFaults);
  const extended = spec['extendedResourceName'];
  if (extended !== undefined && !isExtended(textOf(extended)))
    yield invalid('spec.extendedResourceName', extended, 'must be a valid extended resource name');
}

/** Strategy of classes of devices. */
export const deviceClassStrategy: Strategy = strategyOf(builtIn('deviceclasses', 'resource.k8s.io'), {
  counted: specOf,
  faults,
  metadataChecks: ['changes', 'whole'],
});
