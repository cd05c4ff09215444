import type { ApiClient } from '../../api/client.ts';
import type { Resource } from '../../api/resources.ts';
import { AgentError, messageOf } from '../../base/errors.ts';
import { nameOf, namespaceOf, uidOf } from '../../kube/names.ts';
import type { KubeObject, Pod } from '../../kube/types.ts';
import type { ClaimedVolume } from '../volumes/claimed.ts';

const claimResource: Resource = {
  group: '',
  version: 'v1',
  resource: 'persistentvolumeclaims',
  kind: 'PersistentVolumeClaim',
  namespaced: true,
};

const volumeResource: Resource = {
  group: '',
  version: 'v1',
  resource: 'persistentvolumes',
  kind: 'PersistentVolume',
  namespaced: false,
};

/** Annotation with a group that pods using the volume must be in. */
const gidAnnotation = 'pv.beta.kubernetes.io/gid';

/** Annotation with mount options that predates the field; it still takes precedence. */
const optionsAnnotation = 'volume.beta.kubernetes.io/mount-options';

interface Claim extends KubeObject {
  readonly spec?: { readonly volumeName?: string };
  readonly status?: { readonly phase?: string };
}

interface Volume extends KubeObject {
  readonly spec?: ClaimedVolume & { readonly claimRef?: { readonly uid?: string } };
}

/**
 * Returns the volume that a pod's claim is bound to.
 *
 * Follows kubelet `getPVCExtractPV` and `getPVSpec` (pkg/kubelet/volumemanager/populator).
 *
 * @param own true for an ephemeral volume: the claim must have been created for this pod
 * @throws {AgentError} with the kubelet's message when the claim cannot be used yet
 */
export async function claimedVolume(
  client: ApiClient,
  pod: Pod,
  claimName: string,
  own: boolean,
): Promise<ClaimedVolume> {
  const namespace = namespaceOf(pod);
  const bound = await extracted(client, namespace, claimName);
  if (own && !bound.isFor(pod))
    throw notYet(
      `PVC ${namespace}/${claimName} was not created for pod ${namespace}/${nameOf(pod)} (pod is not owner)`,
    );
  return bound.volume;
}

async function extracted(
  client: ApiClient,
  namespace: string,
  claimName: string,
): Promise<{ readonly volume: ClaimedVolume; readonly isFor: (pod: Pod) => boolean }> {
  try {
    const { uid, name, owner } = await boundVolume(client, namespace, claimName);
    return { volume: await volumeOf(client, name, uid), isFor: (pod) => owner === uidOf(pod) };
  } catch (reason) {
    const message = `error processing PVC ${namespace}/${claimName}: ${messageOf(reason)}`;
    throw new AgentError(AgentError.from(reason).code, message, { cause: reason });
  }
}

async function boundVolume(
  client: ApiClient,
  namespace: string,
  name: string,
): Promise<{ readonly uid: string; readonly name: string; readonly owner: string | undefined }> {
  const claim = await fetched('failed to fetch PVC from API server', () =>
    client.get<Claim>(claimResource, { namespace, name }),
  );
  const { metadata, spec, status } = claim;
  if (metadata?.deletionTimestamp !== undefined) throw notYet('PVC is being deleted');
  if (status?.phase !== 'Bound') throw notYet('PVC is not bound');
  if (!spec?.volumeName) throw notYet('PVC has empty pvc.Spec.VolumeName');
  const owner = metadata?.ownerReferences?.find(({ controller }) => controller)?.uid;
  return { uid: metadata?.uid ?? '', name: spec.volumeName, owner };
}

async function volumeOf(client: ApiClient, name: string, claimUid: string): Promise<ClaimedVolume> {
  const { metadata, spec = {} } = await fetched(`failed to fetch PV ${name} from API server`, () =>
    client.get<Volume>(volumeResource, { name }),
  );
  if (!spec.claimRef)
    throw notYet(
      `found PV object ${name} but it has a nil pv.Spec.ClaimRef indicating it is not yet bound to the claim`,
    );
  const { uid = '' } = spec.claimRef;
  const { [gidAnnotation]: gid, [optionsAnnotation]: options } = metadata?.annotations ?? {};
  const asAnnotated = {
    ...(gid !== undefined && { gid }),
    ...(options !== undefined && { mountOptions: options.split(',') }),
  };
  if (uid === claimUid) return { ...spec, name, ...asAnnotated };
  throw notYet(
    `found PV object ${name} but its pv.Spec.ClaimRef.UID ${uid} does not point to claim.UID ${claimUid}`,
  );
}

const notYet = (message: string): AgentError => new AgentError('failed_precondition', message);

async function fetched<T>(what: string, get: () => Promise<T>): Promise<T> {
  try {
    return await get();
  } catch (reason) {
    throw new AgentError(AgentError.from(reason).code, `${what}: ${messageOf(reason)}`, { cause: reason });
  }
}
