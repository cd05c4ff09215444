import { valueAt } from '../../apimachinery/json.ts';
import { pathSegment } from '../../apimachinery/path-segment.ts';
import { internalError, notFound, StatusError } from '../../apimachinery/status-error.ts';
import { admittedName } from '../storage/names.ts';
import { type AdmissionPlugin, type Attributes, isResource, refusal } from './plugin.ts';

/** Namespaces that cannot be deleted. */
const immortal = new Set(['default', 'kube-system', 'kube-public']);

/** Rejects new objects in a namespace that does not exist or is terminating, and the deletion of system namespaces. */
export const namespaceLifecycle: AdmissionPlugin = {
  name: 'NamespaceLifecycle',
  handles: (operation, kind) =>
    isResource(kind, 'namespaces')
      ? operation === 'DELETE'
      : operation === 'CREATE' && kind.namespaced && kind.resource !== 'localsubjectaccessreviews',
  admit(attributes) {
    if (attributes.operation === 'DELETE') {
      if (immortal.has(attributes.name)) throw refusal(attributes, 'this namespace may not be deleted');
    } else checkNamespace(attributes);
    return undefined;
  },
};

/** @throws {StatusError} 403, 404, 500 */
function checkNamespace(attributes: Attributes): void {
  const { namespace, kind, context, object } = attributes;
  if (namespace === '') return;
  const faults = pathSegment(namespace, false);
  if (faults.length > 0)
    throw internalError(`invalid resource name ${JSON.stringify(namespace)}: [${faults.join(' ')}]`);
  const found = context.world.store.get('namespaces', namespace);
  if (!found) throw notFound({ kind: 'namespaces', name: namespace });
  if (valueAt(found.object, 'metadata', 'deletionTimestamp') === undefined) return;
  const where = kind.group ? `${kind.resource}.${kind.group}` : kind.resource;
  const name = attributes.name || admittedName(object);
  throw new StatusError(
    403,
    'Forbidden',
    `${where} "${name}" is forbidden: unable to create new content in namespace ${namespace} because it is being terminated`,
    {
      details: {
        name,
        ...(kind.group && { group: kind.group }),
        kind: kind.resource,
        causes: [
          {
            reason: 'NamespaceTerminating',
            message: `namespace ${namespace} is being terminated`,
            field: 'metadata.namespace',
          },
        ],
      },
    },
  );
}
