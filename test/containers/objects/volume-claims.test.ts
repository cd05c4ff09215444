import { expect, test } from 'vitest';
import { claimedVolume } from '../../../src/containers/objects/volume-claims.ts';
import { type ApiClient, ApiError } from '../../../src/api/client.ts';
import type { Pod } from '../../../src/kube/types.ts';
import { ClaimedVolumes } from '../../../src/containers/volumes/claimed.ts';

const pod: Pod = {
  metadata: { name: 'p', namespace: 'n', uid: 'u' },
  spec: { containers: [], volumes: [{ name: 'v', persistentVolumeClaim: { claimName: 'c' } }] },
};
const claim = { metadata: { uid: 'cu' }, spec: { volumeName: 'pv' }, status: { phase: 'Bound' } };
const volume = { spec: { claimRef: { uid: 'cu' }, hostPath: { path: '/data' } } };

/** Holds one claim and one volume. */
const serverWith = (objects: Readonly<Record<string, object>>): ApiClient =>
  ({
    get: async ({ resource }: { readonly resource: string }, { name }: { readonly name: string }) => {
      const found = objects[resource];
      if (found) return found;
      throw new ApiError(404, { reason: 'NotFound', message: `${resource} "${name}" not found` });
    },
  }) as unknown as ApiClient;

test('a bound claim is its volume', async () => {
  const server = serverWith({ persistentvolumeclaims: claim, persistentvolumes: volume });
  expect(await claimedVolume(server, pod, 'c', false)).toMatchObject({ hostPath: { path: '/data' } });
});

test.for<[string, Readonly<Record<string, object>>]>([
  ['failed to fetch PVC from API server: persistentvolumeclaims "c" not found', {}],
  ['PVC is not bound', { persistentvolumeclaims: { ...claim, status: { phase: 'Pending' } } }],
  ['PVC is being deleted', { persistentvolumeclaims: { ...claim, metadata: { deletionTimestamp: 't' } } }],
  ['PVC has empty pvc.Spec.VolumeName', { persistentvolumeclaims: { ...claim, spec: {} } }],
  [
    'failed to fetch PV pv from API server: persistentvolumes "pv" not found',
    { persistentvolumeclaims: claim },
  ],
  [
    'found PV object pv but it has a nil pv.Spec.ClaimRef indicating it is not yet bound to the claim',
    { persistentvolumeclaims: claim, persistentvolumes: { spec: {} } },
  ],
  [
    'found PV object pv but its pv.Spec.ClaimRef.UID other does not point to claim.UID cu',
    { persistentvolumeclaims: claim, persistentvolumes: { spec: { claimRef: { uid: 'other' } } } },
  ],
])('otherwise: %s', async ([why, objects]) => {
  await expect(claimedVolume(serverWith(objects), pod, 'c', false)).rejects.toThrow(
    `error processing PVC n/c: ${why}`,
  );
});

test('a generic ephemeral volume is the claim that was made for its pod, and no other of that name', async () => {
  const asked: string[] = [];
  const claims = new ClaimedVolumes((of, name, own) => {
    asked.push(`${name} ${own}`);
    return claimedVolume(server, of, name, own);
  });
  const ephemeral: Pod = { ...pod, spec: { containers: [], volumes: [{ name: 'v', ephemeral: {} }] } };
  const ownedBy = (uid: string): object => ({
    ...claim,
    metadata: {
      uid: 'cu',
      ownerReferences: [{ apiVersion: 'v1', kind: 'Pod', name: 'p', uid, controller: true }],
    },
  });
  let server = serverWith({ persistentvolumeclaims: ownedBy('other'), persistentvolumes: volume });
  expect([...(await claims.resolve(ephemeral, ephemeral.spec!.volumes!)).values()]).toEqual([
    'PVC n/p-v was not created for pod n/p (pod is not owner)',
  ]);
  server = serverWith({ persistentvolumeclaims: ownedBy('u'), persistentvolumes: volume });
  expect(await claims.resolve(ephemeral, ephemeral.spec!.volumes!)).toEqual(new Map());
  expect(claims.pathOf(ephemeral, ephemeral.spec!.volumes![0]!)).toBe('/data');
  expect(asked).toEqual(['p-v true', 'p-v true']);
});

const [named] = pod.spec?.volumes ?? [];

test('a volume is where its claim says, until the pod is forgotten', async () => {
  const claims = new ClaimedVolumes(async () => ({ local: { path: '/' } }));
  expect(await claims.resolve(pod, [named!])).toEqual(new Map());
  await claims.check(pod, named!);
  expect(claims.pathOf(pod, named!)).toBe('/');
  claims.forget(pod);
  expect(claims.pathOf(pod, named!)).toBeUndefined();
});

test('a volume that does not exist, or is of an unsupported kind, is an error', async () => {
  const missing = new ClaimedVolumes(async () => ({ local: { path: '/nowhere/at/all' } }));
  await missing.resolve(pod, [named!]);
  await expect(missing.check(pod, named!)).rejects.toThrow('path "/nowhere/at/all" does not exist');
  const other = new ClaimedVolumes(async () => ({}));
  await other.resolve(pod, [named!]);
  await expect(other.check(pod, named!)).rejects.toThrow('not supported on this node');
});

test('mount options are those of the annotation, else of the volume', async () => {
  const bound = { claimRef: { uid: 'cu' }, nfs: { server: 's', path: '/p' }, mountOptions: ['soft'] };
  const annotated = { annotations: { 'volume.beta.kubernetes.io/mount-options': 'hard,ro' } };
  for (const [metadata, mountOptions] of [
    [{}, ['soft']],
    [annotated, ['hard', 'ro']],
  ] as const) {
    const server = serverWith({
      persistentvolumeclaims: claim,
      persistentvolumes: { metadata, spec: bound },
    });
    expect(await claimedVolume(server, pod, 'c', false)).toMatchObject({ nfs: bound.nfs, mountOptions });
  }
});
