import { type Faults, forbidden } from '../../../kube/validation/field-error.ts';
import { type JsonObject, namespaceOf, objectAt, objectsAt, statusOf } from '../../../apimachinery/json.ts';
import { metadataOf } from '../../../apimachinery/json.ts';
import type { World } from '../../request/write-context.ts';

const label = 'resource.kubernetes.io/admin-access';

function* namespaceFaults(field: string, namespace: string, { store }: World): Faults {
  const object = store.get('namespaces', namespace)?.object;
  if (objectAt(metadataOf(object), 'labels')[label] !== 'true')
    yield forbidden(
      field,
      `admin access to devices requires the \`${label}: true\` label on the containing namespace`,
    );
}

/** Validates that only claims in labelled namespaces request devices in use by others. @param spec of the claim */
export function* adminRequestFaults(spec: JsonObject, namespace: string, world: World): Faults {
  const requests = objectsAt(objectAt(spec, 'devices'), 'requests');
  const i = requests.findIndex((one) => objectAt(one, 'exactly')['adminAccess'] === true);
  if (i >= 0) yield* namespaceFaults(`spec.devices.requests[${i}].adminAccess`, namespace, world);
}

const adminResult = (claim: JsonObject): number =>
  objectsAt(objectAt(objectAt(statusOf(claim), 'allocation'), 'devices'), 'results').findIndex(
    (one) => one['adminAccess'] === true,
  );

/** Validates that only claims in labelled namespaces are allocated devices in use by others. */
export function* adminResultFaults(claim: JsonObject, old: JsonObject, world: World): Faults {
  const i = adminResult(claim);
  if (i >= 0 && adminResult(old) < 0)
    yield* namespaceFaults(`status.allocation.devices.results[${i}].adminAccess`, namespaceOf(claim), world);
}
