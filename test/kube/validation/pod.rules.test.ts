import { expect, test } from 'vitest';
import type { Pod } from '../../../src/kube/types.ts';
import { defaultPod } from '../../../src/kube/validation/defaults.ts';
import { formatFieldError } from '../../../src/kube/validation/field-error.ts';
import { validatePod } from '../../../src/kube/validation/pod.ts';

type Fields = Readonly<Record<string, unknown>>;

/** The faults of a pod with one container `c`, `spec` and `container` merged in. */
function faults(spec: Fields, container: Fields = {}, annotations: Record<string, string> = {}): string[] {
  const pod = {
    metadata: { name: 'p', namespace: 'default', annotations },
    spec: { containers: [{ name: 'c', image: 'x:1', ...container }], ...spec },
  } as Pod;
  return validatePod(defaultPod(pod)).map(formatFieldError);
}

const seccomp = 'seccomp.security.alpha.kubernetes.io/pod';
const appArmor = 'container.apparmor.security.beta.kubernetes.io/c';
const mismatch = 'in annotation and field must match';

test.each([
  ['localhost/x', { type: 'Localhost', localhostProfile: 'x' }, []],
  ['docker/default', { type: 'RuntimeDefault' }, []],
  [
    'localhost/y',
    { type: 'Localhost', localhostProfile: 'x' },
    ['localhostProfile: Forbidden: seccomp profile'],
  ],
  ['unconfined', { type: 'RuntimeDefault' }, ['type: Forbidden: seccomp type']],
  ['localhost/x', { type: 'RuntimeDefault' }, ['type: Forbidden: seccomp type']],
])('a seccomp annotation %s beside the profile %o', (annotation, seccompProfile, expected) => {
  const found = faults({ securityContext: { seccompProfile } }, {}, { [seccomp]: annotation });
  expect(found).toEqual(expected.map((text) => `spec.securityContext.seccompProfile.${text} ${mismatch}`));
});

test('AppArmor field and annotation must match; on Windows they are not checked', () => {
  const securityContext = { appArmorProfile: { type: 'Localhost', localhostProfile: 'foo' } };
  const at = 'spec.containers[0].securityContext.appArmorProfile';
  expect(faults({ securityContext }, {}, { [appArmor]: '' })).toEqual([
    `${at}.type: Forbidden: apparmor type ${mismatch}`,
  ]);
  expect(faults({ securityContext }, {}, { [appArmor]: 'localhost/foo' })).toEqual([]);
  expect(faults({ securityContext, os: { name: 'windows' } }, {}, { [appArmor]: 'unconfined' })).toEqual([
    'spec.securityContext.appArmorProfile: Forbidden: cannot be set for a windows pod',
  ]);
});

const twice = 'exists in both matchLabelKeys and labelSelector';

test('every mention of a key in the selector but the first is the user’s own', () => {
  const expression = { key: 'app', operator: 'In', values: ['a'] };
  const term = (selector: Fields): Fields => ({
    affinity: {
      podAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: [
          { topologyKey: 'zone', matchLabelKeys: ['app'], labelSelector: selector },
        ],
      },
    },
  });
  const at = 'spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0][0]';
  const fault = `${at}: Invalid value: "app": ${twice}`;
  expect(faults(term({ matchExpressions: [expression] }))).toEqual([]);
  expect(faults(term({ matchExpressions: [expression, expression, expression] }))).toEqual([fault, fault]);
  expect(faults(term({ matchLabels: { app: 'a' }, matchExpressions: [expression] }))).toEqual([fault]);
  expect(
    faults({
      topologySpreadConstraints: [
        {
          maxSkew: 1,
          topologyKey: 'zone',
          whenUnsatisfiable: 'DoNotSchedule',
          matchLabelKeys: ['app'],
          labelSelector: { matchLabels: { app: 'a' }, matchExpressions: [expression] },
        },
      ],
    }),
  ).toEqual([`spec.topologySpreadConstraints[0][0]: Invalid value: "app": ${twice}`]);
});

test('a wish for nodes may name values that no label can have', () => {
  const preference = { matchExpressions: [{ key: 'a', operator: 'In', values: ['no label'] }] };
  const nodeAffinity = {
    preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 1, preference }],
    requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [preference] },
  };
  expect(faults({ affinity: { nodeAffinity } })).toEqual([
    expect.stringContaining('.nodeSelectorTerms[0].matchExpressions[0].values[0]: Invalid value: "no label"'),
  ]);
});

const projected = (...sources: Fields[]): Fields => ({
  serviceAccountName: 'sa',
  volumes: [{ name: 'v', projected: { sources } }],
});

test('two tokens may have one path, two bundles may not; a bundle is shown under its Go names', () => {
  const token = { serviceAccountToken: { path: 't' } };
  const bundle = { clusterTrustBundle: { name: 'a', signerName: 'example.com/b', path: 't' } };
  expect(faults(projected(token, token))).toEqual([]);
  expect(faults(projected(bundle))).toEqual([
    'spec.volumes[0].projected.sources[0].clusterTrustBundle: Invalid value: {"Name":"a","SignerName":"example.com/b","LabelSelector":null,"Optional":null,"Path":"t"}: only one of name and signerName may be used',
  ]);
  expect(
    faults(
      projected(
        { clusterTrustBundle: { name: 'a', path: 't' } },
        { clusterTrustBundle: { name: 'b', path: 't' } },
      ),
    ),
  ).toEqual(['spec.volumes[0].projected: Invalid value: "t": conflicting duplicate paths']);
});

test('Kubernetes’ own signers give certificates for a day at most; notes for a signer have a domain', () => {
  const certificate = (signerName: string, userAnnotations?: Fields): Fields =>
    projected({
      podCertificate: {
        signerName,
        keyType: 'ED25519',
        maxExpirationSeconds: 86_401,
        keyPath: 'k',
        userAnnotations,
      },
    });
  const at = 'spec.volumes[0].projected.sources[0].podCertificate';
  expect(faults(certificate('example.com/a', { 'X.io/A': '' }))).toEqual([]);
  expect(faults(certificate('own.kubernetes.io/a', { A: '' }))).toEqual([
    `${at}.userAnnotations: Invalid value: "a": must be a domain-prefixed key (such as "acme.io/foo")`,
    `${at}.maxExpirationSeconds: Invalid value: 86401: if provided, maxExpirationSeconds must be <= 86400`,
  ]);
});

test('fields that a Windows pod cannot have are reported in Kubernetes’ order', () => {
  const fault = 'Forbidden: cannot be set for a windows pod';
  const found = faults(
    {
      os: { name: 'windows' },
      shareProcessNamespace: true,
      securityContext: { seLinuxChangePolicy: 'Recursive' },
    },
    { securityContext: { seccompProfile: { type: 'Unconfined' }, readOnlyRootFilesystem: true } },
  );
  expect(found).toEqual([
    `spec.shareProcessNamespace: ${fault}`,
    `spec.securityContext.seLinuxChangePolicy: ${fault}`,
    `spec.containers[0].securityContext.seccompProfile: ${fault}`,
    `spec.containers[0].securityContext.readOnlyRootFilesystem: ${fault}`,
  ]);
});

test('a Windows pod has no resources as a whole', () => {
  const spec = { os: { name: 'windows' }, resources: { requests: { cpu: '2' }, limits: { cpu: '1' } } };
  expect(faults(spec)).toEqual(['spec.resources: Forbidden: may not be set for a windows pod']);
});

test('a stop signal needs an operating system, even one without a name', () => {
  const lifecycle = { stopSignal: 'SIGTERM' };
  expect(faults({ os: { name: '' } }, { lifecycle })).toEqual(['spec.os.name: Required value']);
  expect(faults({}, { lifecycle })).toEqual([
    'spec.containers[0].lifecycle.stopSignal: Forbidden: may not be set for containers with empty `spec.os.name`',
  ]);
});

const claims = (metadata: Fields, spec: Fields): Fields => {
  const storage = { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } };
  const volumeClaimTemplate = { metadata, spec: { ...storage, ...spec } };
  return { volumes: [{ name: 'v', ephemeral: { volumeClaimTemplate } }] };
};

test('a template of a claim has no metadata but labels and annotations', () => {
  const at = 'spec.volumes[0].ephemeral.volumeClaimTemplate.metadata';
  expect(faults(claims({ uid: 'u', generateName: 'a-', labels: { a: 'b' }, name: '' }, {}))).toEqual([
    `${at}.generateName: Forbidden: cannot be set`,
    `${at}.uID: Forbidden: cannot be set`,
  ]);
});

test('what a claim of a pod is filled from must be named, and named alike', () => {
  const at = 'spec.volumes[0].ephemeral.volumeClaimTemplate.spec';
  const claim = { kind: 'PersistentVolumeClaim', name: 'a' };
  const snapshot = { apiGroup: 'snapshot.storage.k8s.io', kind: 'VolumeSnapshot', name: 's' };
  expect(faults(claims({}, { dataSource: claim, dataSourceRef: claim }))).toEqual([]);
  expect(faults(claims({}, { dataSource: claim, dataSourceRef: snapshot }))).toEqual([
    `${at}: Invalid value: {}: must match dataSourceRef`,
  ]);
  expect(
    faults(claims({}, { dataSource: snapshot, dataSourceRef: { ...snapshot, namespace: 'n' } })),
  ).toEqual([`${at}: Invalid value: {}: may not be specified when dataSourceRef.namespace is specified`]);
  expect(faults(claims({}, { dataSource: { kind: 'Other' }, volumeAttributesClassName: '-' }))).toEqual([
    `${at}.dataSource.name: Required value`,
    `${at}.dataSource: Invalid value: "Other": must be 'PersistentVolumeClaim' when referencing the default apiGroup`,
    expect.stringContaining(`${at}.volumeAttributesClassName: Invalid value: "-"`),
  ]);
});
