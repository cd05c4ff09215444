import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { createKey, writeSigningRequest } from '../../../src/pki/certificates.ts';
import { selfSigned } from '../../../src/pki/self-signed.ts';

const sleeping = (name: string, spec: object = {}): object => ({
  terminationGracePeriodSeconds: 1,
  containers: [{ name, image: 'busybox', command: ['sleep', '3600'] }],
  ...spec,
});

const deployment = (name: string, replicas: number): object => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name, labels: { app: name } },
  spec: {
    replicas,
    selector: { matchLabels: { app: name } },
    template: { metadata: { labels: { app: name } }, spec: sleeping('main') },
  },
});

const service = {
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name: 'api' },
  spec: { selector: { app: 'api' }, ports: [{ port: 80 }] },
};

const store = {
  apiVersion: 'apps/v1',
  kind: 'StatefulSet',
  metadata: { name: 'store' },
  spec: {
    replicas: 2,
    serviceName: 'store',
    selector: { matchLabels: { app: 'store' } },
    template: { metadata: { labels: { app: 'store' } }, spec: sleeping('member') },
  },
};

const talker = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'talker', labels: { app: 'talker' } },
  spec: {
    terminationGracePeriodSeconds: 1,
    containers: [
      {
        name: 'main',
        image: 'busybox',
        command: ['sh', '-c', 'echo first; echo second; while :; do sleep 1; echo tick; done'],
      },
    ],
  },
};

const role = {
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind: 'Role',
  metadata: { name: 'readers', namespace: 'shop' },
  rules: [{ apiGroups: [''], resources: ['pods'], verbs: ['get', 'list'] }],
};

const budget = {
  apiVersion: 'policy/v1',
  kind: 'PodDisruptionBudget',
  metadata: { name: 'guarded' },
  spec: { minAvailable: 1, selector: { matchLabels: { app: 'guarded' } } },
};

const widgets = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'widgets.example.com' },
  spec: {
    group: 'example.com',
    scope: 'Namespaced',
    names: { plural: 'widgets', singular: 'widget', kind: 'Widget', shortNames: ['wd'] },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        schema: {
          openAPIV3Schema: {
            type: 'object',
            description: 'A widget.',
            properties: { spec: { type: 'object', properties: { size: { type: 'integer', minimum: 1 } } } },
          },
        },
      },
    ],
  },
};

const widget = (size: number): object => ({
  apiVersion: 'example.com/v1',
  kind: 'Widget',
  metadata: { name: 'small' },
  spec: { size },
});

const signingRequest = (name: string): object => ({
  apiVersion: 'certificates.k8s.io/v1',
  kind: 'CertificateSigningRequest',
  metadata: { name },
  spec: {
    request: Buffer.from(writeSigningRequest(createKey(), { commonName: name })).toString('base64'),
    signerName: 'kubernetes.io/kube-apiserver-client',
    usages: ['client auth'],
  },
});

/** Writes the files that the commands name. */
export function writeFiles(dir: string): void {
  const manifests: Record<string, readonly object[]> = {
    'api.yaml': [deployment('api', 2), service],
    'api-3.yaml': [deployment('api', 3), service],
    'store.yaml': [store],
    'talker.yaml': [talker],
    'role.yaml': [role],
    'budget.yaml': [deployment('guarded', 1), budget],
    'widgets.yaml': [widgets],
    'widget.yaml': [widget(1)],
    'widget-0.yaml': [widget(0)],
    'csr.yaml': [signingRequest('alice'), signingRequest('bob')],
    'broken.yaml': [{ apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'broken' }, spec: {} }],
  };
  for (const [name, objects] of Object.entries(manifests))
    writeFileSync(join(dir, name), objects.map((one) => `---\n${stringify(one)}`).join(''));
  writeFileSync(join(dir, 'settings.properties'), 'colour=blue\nsize=3\n');
  mkdirSync(join(dir, 'overlay'), { recursive: true });
  writeFileSync(
    join(dir, 'overlay/cm.yaml'),
    stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'plain' }, data: { a: '1' } }),
  );
  writeFileSync(
    join(dir, 'overlay/kustomization.yaml'),
    stringify({ namePrefix: 'dev-', labels: [{ pairs: { stage: 'dev' } }], resources: ['cm.yaml'] }),
  );
  const { key, cert } = selfSigned('shop', Date.now());
  writeFileSync(join(dir, 'tls.key'), key);
  writeFileSync(join(dir, 'tls.crt'), cert);
  mkdirSync(join(dir, 'bin'), { recursive: true });
  writeFileSync(join(dir, 'bin/kubectl-hello'), '#!/bin/sh\necho "hello from a plug-in"\n');
  chmodSync(join(dir, 'bin/kubectl-hello'), 0o755);
}
