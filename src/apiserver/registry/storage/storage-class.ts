import {
  duplicate,
  type Faults,
  invalidEach,
  oneOf,
  required,
} from '../../../kube/validation/field-error.ts';
import { qualifiedNameRule } from '../../../kube/validation/name-rules.ts';
import {
  canonicalJson,
  type JsonObject,
  listAt,
  objectAt,
  objectsAt,
  stringAt,
  textOf,
} from '../../../apimachinery/json.ts';
import { ownMember } from '../../../base/own.ts';
import { builtIn } from '../../../apimachinery/kinds.ts';
import { strategyOf } from '../kind-strategy.ts';
import type { Strategy } from '../strategy.ts';
import { oldKeyWarnings } from '../validation/pod-warnings.ts';
import { goMap, immutable } from '../validation/value-rules.ts';
import { parameters, provisioner } from './storage-rules.ts';

function* requirement(field: string, one: JsonObject): Faults {
  const key = stringAt(one, 'key');
  const values = listAt(one, 'values').map(textOf);
  if (values.length === 0) yield required(`${field}.values`);
  const seen = new Set<string>();
  for (const [i, value] of values.entries()) {
    if (seen.has(value)) yield duplicate(`${field}.values[${i}]`, value);
    seen.add(value);
  }
  yield* invalidEach(`${field}.key`, key, qualifiedNameRule(key));
}

function* topologies(field: string, terms: readonly JsonObject[]): Faults {
  const before: string[] = [];
  for (const [i, term] of terms.entries()) {
    const keys = new Set<string>();
    const expressions = objectsAt(term, 'matchLabelExpressions');
    for (const [j, one] of expressions.entries()) {
      const at = `${field}[${i}].matchLabelExpressions[${j}]`;
      const key = stringAt(one, 'key');
      yield* requirement(at, one);
      if (keys.has(key)) yield duplicate(`${at}.key`, key);
      keys.add(key);
    }
    const same = canonicalJson(
      Object.fromEntries(
        expressions.map((one) => [
          stringAt(one, 'key'),
          [...new Set(listAt(one, 'values').map(textOf))].sort(),
        ]),
      ),
    );
    // an empty term equals each of the places that Kubernetes reserves for the terms
    const repeats = before.filter((one) => one === same).length + (same === '{}' ? terms.length : 0);
    for (let n = 0; n < repeats; n++) yield duplicate(`${field}[${i}].matchLabelExpressions`, '');
    before.push(same);
  }
}

const frozen = ['parameters', 'provisioner', 'reclaimPolicy', 'volumeBindingMode'];

/** Validates a storage class. Follows Kubernetes `ValidateStorageClass` (pkg/apis/storage/validation, v1.36). */
function* faults(one: JsonObject, old: JsonObject | undefined): Faults {
  yield* provisioner('provisioner', stringAt(one, 'provisioner'));
  yield* parameters('parameters', objectAt(one, 'parameters'));
  if (stringAt(one, 'reclaimPolicy') !== '')
    yield* oneOf('reclaimPolicy', stringAt(one, 'reclaimPolicy'), ['Delete', 'Retain']);
  yield* oneOf('volumeBindingMode', stringAt(one, 'volumeBindingMode'), [
    'Immediate',
    'WaitForFirstConsumer',
  ]);
  yield* topologies('allowedTopologies', objectsAt(one, 'allowedTopologies'));
  if (!old) return;
  for (const key of frozen) {
    const now = ownMember(one, key);
    yield* immutable(key, now, ownMember(old, key), key === 'parameters' ? goMap(now) : now);
  }
}

/** Strategy of storage classes: only metadata, expansion, mount options and topologies change. */
export const storageClassStrategy: Strategy = strategyOf(builtIn('storageclasses', 'storage.k8s.io'), {
  defaults: (one) => ({
    ...one,
    reclaimPolicy: one['reclaimPolicy'] ?? 'Delete',
    volumeBindingMode: one['volumeBindingMode'] ?? 'Immediate',
  }),
  faults,
  metadataChecks: ['changes', 'whole'],
  warnings: (one) =>
    objectsAt(one, 'allowedTopologies').flatMap((term, i) =>
      objectsAt(term, 'matchLabelExpressions').flatMap((expression, j) =>
        oldKeyWarnings(
          `allowedTopologies[${i}].matchLabelExpressions[${j}].key`,
          stringAt(expression, 'key'),
        ),
      ),
    ),
});
