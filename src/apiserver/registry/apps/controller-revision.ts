import { type Faults, required } from '../../../kube/validation/field-error.ts';
import { isObject, type JsonObject } from '../../../apimachinery/json.ts';
import { builtIn } from '../../../apimachinery/kinds.ts';
import { strategyOf } from '../kind-strategy.ts';
import type { Strategy } from '../strategy.ts';
import { immutable, nonNegatives } from '../validation/value-rules.ts';

function* faults(revision: JsonObject, old: JsonObject | undefined): Faults {
  const { data } = revision;
  yield* nonNegatives('', revision, 'revision');
  if (old) yield* immutable('data', data, old['data']);
  else if (data === undefined || data === null) yield required('data', 'data is mandatory');
  else if (!isObject(data)) yield required('data', 'data must be a valid JSON object');
}

/** Strategy of controller revisions: the data never change. */
export const controllerRevisionStrategy: Strategy = strategyOf(builtIn('controllerrevisions', 'apps'), {
  faults,
  metadataChecks: ['changes', 'whole'],
});
