import { forbidden } from '../../../kube/validation/field-error.ts';
import { objectAt, sameJson, stringAt } from '../../../apimachinery/json.ts';
import { builtIn } from '../../../apimachinery/kinds.ts';
import { strategyOf } from '../kind-strategy.ts';
import type { Strategy } from '../strategy.ts';
import { parameters, provisioner } from './storage-rules.ts';

/** Strategy of volume attributes classes: driver and parameters do not change. */
export const volumeAttributesClassStrategy: Strategy = strategyOf(
  builtIn('volumeattributesclasses', 'storage.k8s.io'),
  {
    *faults(one, old) {
      if (old && one['driverName'] !== old['driverName'])
        yield forbidden('driverName', 'updates to driverName are forbidden.');
      if (old && !sameJson(one['parameters'], old['parameters']))
        yield forbidden('parameters', 'updates to parameters are forbidden.');
      yield* provisioner('driverName', stringAt(one, 'driverName'));
      yield* parameters('parameters', objectAt(one, 'parameters'), true);
    },
    metadataChecks: ['changes', 'whole'],
  },
);
