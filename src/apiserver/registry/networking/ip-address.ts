import { type Faults, invalidEach, required } from '../../../kube/validation/field-error.ts';
import { dns1123Subdomain } from '../../../kube/validation/name-rules.ts';
import { isObject, type JsonObject, specOf, stringAt } from '../../../apimachinery/json.ts';
import { builtIn } from '../../../apimachinery/kinds.ts';
import { pathSegment } from '../../../apimachinery/path-segment.ts';
import { strategyOf } from '../kind-strategy.ts';
import type { Strategy } from '../strategy.ts';
import { requiredSegments } from '../validation/reference-rules.ts';
import { immutable } from '../validation/value-rules.ts';

function* faults(one: JsonObject, old: JsonObject | undefined): Faults {
  yield* parentFaults(one);
  const { parentRef } = specOf(one);
  if (old) yield* immutable('spec.parentRef', parentRef, specOf(old)['parentRef'], shown(parentRef));
}

function* parentFaults(one: JsonObject): Faults {
  const parent = specOf(one)['parentRef'];
  const field = 'spec.parentRef';
  if (!isObject(parent)) {
    yield required(field);
    return;
  }
  const group = stringAt(parent, 'group');
  if (group !== '') yield* invalidEach(`${field}.group`, group, dns1123Subdomain(group));
  yield* requiredSegments(field, parent, 'resource', 'name');
  const namespace = stringAt(parent, 'namespace');
  if (namespace !== '') yield* invalidEach(`${field}.namespace`, namespace, pathSegment(namespace, false));
}

/** Returns a parent as messages print it. */
const shown = (parent: unknown): unknown =>
  isObject(parent)
    ? {
        Group: stringAt(parent, 'group'),
        Resource: stringAt(parent, 'resource'),
        Namespace: stringAt(parent, 'namespace'),
        Name: stringAt(parent, 'name'),
      }
    : null;

/** Strategy of IP addresses: the parent does not change. */
export const ipAddressStrategy: Strategy = strategyOf(builtIn('ipaddresses', 'networking.k8s.io'), {
  metadataChecks: ['changes', 'whole'],
  faults,
});
