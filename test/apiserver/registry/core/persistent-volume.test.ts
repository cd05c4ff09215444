import { volumeStrategy } from '../../../../src/apiserver/registry/core/persistent-volume.ts';
import type { JsonObject } from '../../../../src/apimachinery/json.ts';
import { testKind } from '../one-kind.ts';

const volumeOf = (members: JsonObject): JsonObject => ({
  spec: { capacity: { storage: '1Gi' }, accessModes: ['ReadWriteOnce'], ...members },
});
const terms = [{ matchExpressions: [{ key: 'kubernetes.io/hostname', operator: 'In', values: ['n'] }] }];
const nodeAffinity = { required: { nodeSelectorTerms: terms } };
const since = '2026-01-02T00:00:00Z';

testKind(volumeStrategy, {
  created: [
    [
      volumeOf({ rbd: { monitors: ['m'], image: 'i' } }),
      {
        spec: {
          capacity: { storage: '1Gi' },
          rbd: { monitors: ['m'], image: 'i', pool: 'rbd', user: 'admin', keyring: '/etc/ceph/keyring' },
          accessModes: ['ReadWriteOnce'],
          persistentVolumeReclaimPolicy: 'Retain',
          volumeMode: 'Filesystem',
        },
        status: { phase: 'Pending', lastPhaseTransitionTime: since },
      },
    ],
  ],
  rejected: [
    [
      volumeOf({ local: { path: '/d' } }),
      ['spec.nodeAffinity: Required value: Local volume requires node affinity'],
    ],
    [
      volumeOf({ local: { path: '/a/../b' }, nodeAffinity: {} }),
      [
        'spec.nodeAffinity.required: Required value: must specify required node constraints',
        'spec.local.path: Invalid value: "/a/../b": must not contain \'..\'',
      ],
    ],
    [
      volumeOf({
        csi: { driver: 'a.b', volumeHandle: '', nodeExpandSecretRef: { name: 's' } },
        nfs: { server: 's', path: '/' },
      }),
      ['spec.csi: Forbidden: may not specify more than 1 volume type'],
    ],
    [
      volumeOf({ csi: { driver: 'a.b', volumeHandle: '', nodeExpandSecretRef: { name: 's' } } }),
      ['spec.csi.volumeHandle: Required value', 'spec.csi.nodeExpandSecretRef.namespace: Required value'],
    ],
    [
      volumeOf({ hostPath: { path: '/' }, persistentVolumeReclaimPolicy: 'Recycle' }),
      ["spec.persistentVolumeReclaimPolicy: Forbidden: may not be 'recycle' for a hostPath mount of '/'"],
    ],
    [
      {
        ...volumeOf({ hostPath: { path: '/d' }, capacity: { storage: '-1' } }),
        metadata: { annotations: { 'volume.beta.kubernetes.io/mount-options': 'ro' } },
      },
      [
        'spec.capacity[storage]: Invalid value: -1: must be a valid resource quantity',
        'spec.capacity[storage]: Invalid value: "-1": must be greater than zero',
        'metadata.annotations.volume.beta.kubernetes.io/mount-options: Forbidden: may not specify mount options for this volume type',
      ],
    ],
    [
      volumeOf({ hostPath: { path: '/d' }, volumeAttributesClassName: '' }),
      [
        'spec.volumeAttributesClassName: Required value: an empty string is disallowed',
        'spec.csi: Required value: has to be specified when using volumeAttributesClassName',
      ],
    ],
  ],
  updates: {
    of: volumeOf({ local: { path: '/d' }, nodeAffinity }),
    patches: [
      [{ spec: { persistentVolumeReclaimPolicy: 'Delete' } }, '', 0],
      [
        { spec: { nodeAffinity: { required: { nodeSelectorTerms: [{}] } } } },
        '',
        [
          'nodeAffinity: Invalid value: {"Required":{"NodeSelectorTerms":[{"MatchExpressions":null,"MatchFields":null}]}}: field is immutable, except for updating from beta label to GA',
        ],
      ],
      [{ status: { phase: 'Bound' } }, 'status', 0],
    ],
  },
});
