import { type Faults, invalid, invalidEach } from '../../../kube/validation/field-error.ts';
import { dns1123Subdomain } from '../../../kube/validation/name-rules.ts';
import { labelSelector } from '../../../kube/validation/shared.ts';
import { type JsonObject, objectAt, stringAt } from '../../../apimachinery/json.ts';
import { builtIn } from '../../../apimachinery/kinds.ts';
import { strategyOf } from '../kind-strategy.ts';
import type { Strategy } from '../strategy.ts';
import { oldKeyWarnings } from '../validation/pod-warnings.ts';
import { asSelector, shownSelector } from '../validation/selector-rules.ts';
import { immutable } from '../validation/value-rules.ts';

function* faults(one: JsonObject, old: JsonObject | undefined): Faults {
  const { nodeTopology, capacity } = one;
  const className = stringAt(one, 'storageClassName');
  yield* labelSelector('nodeTopology', asSelector(nodeTopology));
  yield* invalidEach('storageClassName', className, dns1123Subdomain(className));
  if (typeof capacity === 'string' && capacity.startsWith('-'))
    yield invalid('capacity', capacity, 'must be greater than or equal to 0');
  if (!old) return;
  yield* immutable('nodeTopology', nodeTopology, old['nodeTopology'], shownSelector(nodeTopology));
  yield* immutable('storageClassName', className, stringAt(old, 'storageClassName'));
}

/** Strategy of storage capacities: topology and class do not change. */
export const csiStorageCapacityStrategy: Strategy = strategyOf(
  builtIn('csistoragecapacities', 'storage.k8s.io'),
  {
    faults,
    metadataChecks: ['changes', 'whole'],
    warnings: (one) =>
      Object.keys(objectAt(objectAt(one, 'nodeTopology'), 'matchLabels')).flatMap((key) =>
        oldKeyWarnings(`nodeTopology.matchLabels.${key}`, key),
      ),
  },
);
