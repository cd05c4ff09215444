import { claimNameOf } from '../../kube/references.ts';
import type { Volume } from '../../kube/types.ts';
import {
  type JsonObject,
  listAt,
  metadataOf,
  nameOf,
  objectAt,
  objectsAt,
  specOf,
  stringAt,
  textOf,
  valueAt,
} from '../../apimachinery/json.ts';
import { notFound } from '../../apimachinery/status-error.ts';
import type { Authorizer } from '../authorization/authorizer.ts';
import { keyOf, type Store } from '../storage/store.ts';
import { type Attributes, refusal } from './plugin.ts';

/** The CSI drivers that replace in-tree volume plug-ins. */
const migrated = new Map([
  ['gcePersistentDisk', 'pd.csi.storage.gke.io'],
  ['awsElasticBlockStore', 'ebs.csi.aws.com'],
  ['cinder', 'cinder.csi.openstack.org'],
  ['azureDisk', 'disk.csi.azure.com'],
  ['azureFile', 'file.csi.azure.com'],
  ['vsphereVolume', 'csi.vsphere.vmware.com'],
  ['portworxVolume', 'pxd.portworx.com'],
]);

/** Allows a node to request tokens only for its own pods, and for audiences that the pod uses. @throws {StatusError} 403, 404 */
export async function checkTokenRequest(
  node: string,
  attributes: Attributes,
  authorizer: Pick<Authorizer, 'decide'>,
): Promise<void> {
  const { operation, subresource, namespace, context, object } = attributes;
  if (operation !== 'CREATE' || subresource !== 'token') return;
  const ref = objectAt(specOf(object), 'boundObjectRef');
  const [name, uid] = [stringAt(ref, 'name'), stringAt(ref, 'uid')];
  if (ref['apiVersion'] !== 'v1' || ref['kind'] !== 'Pod' || name === '')
    throw refusal(attributes, 'node requested token not bound to a pod');
  if (uid === '') throw refusal(attributes, 'node requested token with a pod binding without a uid');
  const pod = context.world.store.get('pods', keyOf(namespace, name))?.object;
  if (!pod) throw notFound({ kind: 'pod', name });
  if (metadataOf(pod)['uid'] !== uid)
    throw refusal(
      attributes,
      `the UID in the bound object reference (${uid}) does not match the UID in record. The object might have been deleted and then recreated`,
    );
  if (specOf(pod)['nodeName'] !== node)
    throw refusal(attributes, 'node requested token bound to a pod scheduled on a different node');
  await checkAudience(pod, attributes, authorizer);
}

async function checkAudience(
  pod: JsonObject,
  attributes: Attributes,
  authorizer: Pick<Authorizer, 'decide'>,
): Promise<void> {
  const { context, namespace, name, object } = attributes;
  const [audience = '', ...more] = listAt(specOf(object), 'audiences').map(textOf);
  if (more.length > 0) throw refusal(attributes, 'node may only request 0 or 1 audiences');
  const { used, faults } = audiencesOf(pod, context.world.store);
  if (used.has(audience)) return;
  if (faults.length > 0)
    throw refusal(attributes, `error validating audience ${JSON.stringify(audience)}: ${joined(faults)}`);
  const verb = 'request-serviceaccounts-token-audience';
  const { user } = context;
  const at = { user, verb, group: '', resource: audience, subresource: '', namespace, name };
  if ((await authorizer.decide(at)).allowed) return;
  throw refusal(
    attributes,
    `audience ${JSON.stringify(audience)} not found in pod spec volume, ${user.name} is not authorized to request tokens for this audience`,
  );
}

const joined = (faults: readonly string[]): string =>
  faults.length === 1 ? (faults[0] ?? '') : `[${[...new Set(faults)].join(', ')}]`;

/** Returns the audiences that a pod's volumes need tokens for, and faults of those that cannot be determined. */
function audiencesOf(
  pod: JsonObject,
  store: Store,
): { readonly used: ReadonlySet<string>; readonly faults: readonly string[] } {
  const used = new Set<string>();
  const faults: string[] = [];
  for (const volume of objectsAt(specOf(pod), 'volumes')) {
    for (const source of objectsAt(objectAt(volume, 'projected'), 'sources')) {
      const token = source['serviceAccountToken'];
      if (token !== undefined) used.add(stringAt(objectAt(source, 'serviceAccountToken'), 'audience'));
    }
    const found = driverOf(volume, pod, store);
    if ('fault' in found) faults.push(found.fault);
    else if (found.driver !== '') {
      const driver = store.get('storage.k8s.io/csidrivers', found.driver)?.object;
      if (!driver) faults.push(missing('csidriver.storage.k8s.io', found.driver));
      for (const request of objectsAt(specOf(driver), 'tokenRequests'))
        used.add(stringAt(request, 'audience'));
    }
  }
  return { used, faults };
}

const missing = (what: string, name: string): string => `${what} ${JSON.stringify(name)} not found`;

/** Returns the CSI driver of a volume: its own, or that of the volume bound to its claim; `''`: none. */
function driverOf(
  volume: JsonObject,
  pod: JsonObject,
  store: Store,
): { readonly driver: string } | { readonly fault: string } {
  const claim = claimNameOf(nameOf(pod), volume as unknown as Volume);
  if (claim === undefined) return { driver: driverIn(volume) };
  const found = store.get('persistentvolumeclaims', keyOf(stringAt(metadataOf(pod), 'namespace'), claim));
  if (!found) return { fault: missing('persistentvolumeclaim', claim) };
  const name = stringAt(specOf(found.object), 'volumeName');
  const persistent = store.get('persistentvolumes', name);
  return persistent
    ? { driver: driverIn(specOf(persistent.object)) }
    : { fault: missing('persistentvolume', name) };
}

function driverIn(holder: JsonObject): string {
  const own = valueAt(holder, 'csi', 'driver');
  if (typeof own === 'string') return own;
  const source = Object.keys(holder).find((key) => migrated.has(key));
  return source === undefined ? '' : (migrated.get(source) ?? '');
}
