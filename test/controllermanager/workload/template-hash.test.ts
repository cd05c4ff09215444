import { expect, test } from 'vitest';
import { templateDump, templateHash } from '../../../src/controllermanager/workload/template-hash.ts';
import type { PodTemplate } from '../../../src/controllermanager/workload/types.ts';

// hashes of Kubernetes 1.36.2's ComputeHash for the same templates, written on 27 November 2026
const full = {
  metadata: { labels: { app: 'web', é: 'ü' }, annotations: { b: '1', a: 'x y' } },
  spec: {
    containers: [
      {
        name: 'c',
        image: 'nginx',
        args: ['-a', 'b c'],
        ports: [{ containerPort: 80, protocol: 'TCP', name: 'http' }],
        resources: {
          requests: { cpu: '100m', memory: '128Mi' },
          limits: {
            cpu: '1',
            memory: '1Gi',
            'ephemeral-storage': '0',
            'example.com/x': '12345678901234567890',
          },
        },
        livenessProbe: {
          httpGet: { path: '/', port: 'http', scheme: 'HTTP', httpHeaders: [{ name: 'X', value: 'y' }] },
          timeoutSeconds: 1,
          periodSeconds: 10,
          successThreshold: 1,
          failureThreshold: 3,
        },
        readinessProbe: {
          tcpSocket: { port: 80 },
          timeoutSeconds: 1,
          periodSeconds: 10,
          successThreshold: 1,
          failureThreshold: 3,
        },
        terminationMessagePath: '/dev/termination-log',
        terminationMessagePolicy: 'File',
        imagePullPolicy: 'Always',
        env: [
          { name: 'A', value: 'b' },
          { name: 'B', valueFrom: { secretKeyRef: { name: 's', key: 'k', optional: true } } },
          { name: 'C', valueFrom: { fieldRef: { apiVersion: 'v1', fieldPath: 'metadata.name' } } },
          { name: 'D', valueFrom: { resourceFieldRef: { resource: 'limits.cpu', divisor: '0' } } },
        ],
        envFrom: [{ prefix: 'P', configMapRef: { name: 'cm' } }],
        volumeMounts: [
          { name: 'v', mountPath: '/v', readOnly: true },
          { name: 't', mountPath: '/t' },
        ],
        lifecycle: { preStop: { exec: { command: ['sh'] } } },
        securityContext: {
          runAsUser: 1000,
          privileged: false,
          capabilities: { drop: ['ALL'] },
          seccompProfile: { type: 'RuntimeDefault' },
        },
        startupProbe: {
          grpc: { port: 5, service: 's' },
          timeoutSeconds: 1,
          periodSeconds: 10,
          successThreshold: 1,
          failureThreshold: 3,
        },
      },
    ],
    initContainers: [{ name: 'i', image: 'x', resources: {}, restartPolicy: 'Always' }],
    volumes: [
      { name: 'v', configMap: { name: 'cm', defaultMode: 420, items: [{ key: 'k', path: 'p', mode: 256 }] } },
      { name: 't', emptyDir: { sizeLimit: '1500Mi', medium: 'Memory' } },
      {
        name: 'p',
        projected: {
          defaultMode: 420,
          sources: [
            { serviceAccountToken: { path: 't', expirationSeconds: 3607 } },
            {
              downwardAPI: {
                items: [{ path: 'l', fieldRef: { apiVersion: 'v1', fieldPath: 'metadata.labels' } }],
              },
            },
          ],
        },
      },
      {
        name: 'e',
        ephemeral: {
          volumeClaimTemplate: {
            metadata: {},
            spec: {
              accessModes: ['ReadWriteOnce'],
              resources: { requests: { storage: '10Gi' } },
              volumeMode: 'Filesystem',
            },
          },
        },
      },
      { name: 'h', hostPath: { path: '/x', type: '' } },
    ],
    restartPolicy: 'Always',
    terminationGracePeriodSeconds: 30,
    dnsPolicy: 'ClusterFirst',
    securityContext: { fsGroup: 5, sysctls: [{ name: 'a', value: 'b' }] },
    schedulerName: 'default-scheduler',
    serviceAccountName: 'sa',
    serviceAccount: 'sa',
    automountServiceAccountToken: false,
    nodeSelector: { b: '2', a: '1' },
    hostNetwork: true,
    tolerations: [{ key: 'k', operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 60 }],
    affinity: {
      nodeAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: {
          nodeSelectorTerms: [{ matchExpressions: [{ key: 'k', operator: 'In', values: ['a', 'b'] }] }],
        },
      },
      podAntiAffinity: {
        preferredDuringSchedulingIgnoredDuringExecution: [
          { weight: 1, podAffinityTerm: { labelSelector: { matchLabels: { a: 'b' } }, topologyKey: 't' } },
        ],
      },
    },
    topologySpreadConstraints: [
      {
        maxSkew: 1,
        topologyKey: 'z',
        whenUnsatisfiable: 'DoNotSchedule',
        labelSelector: { matchLabels: { a: 'b' } },
      },
    ],
    imagePullSecrets: [{ name: 'ps' }],
    hostAliases: [{ ip: '1.2.3.4', hostnames: ['a'] }],
    dnsConfig: { options: [{ name: 'ndots', value: '2' }] },
    readinessGates: [{ conditionType: 'x' }],
    overhead: { cpu: '250m' },
    priority: 5,
    preemptionPolicy: 'Never',
    enableServiceLinks: true,
    os: { name: 'linux' },
  },
};
const amounts = {
  metadata: { labels: { app: 'web' } },
  spec: {
    containers: [
      {
        name: 'c',
        image: 'i',
        resources: {
          requests: { cpu: '1500m', memory: '1e3', 'x/y': '8Gi', 'x/z': '2k', 'x/w': '12k', 'x/v': '-5m' },
        },
      },
    ],
  },
};

test.for([
  ['a template with most fields', full, '79978c9d96', '75b464c787'],
  ['amounts in all notations', amounts, '7dfd946f5d', '7ccf784fb9'],
  ['an empty template', {}, '85748b7f68', '7c87ffd547'],
] as const)("%s has the hash of kube-controller-manager's", ([, template, hash, after3]) => {
  const typed = template as unknown as PodTemplate;
  expect(templateHash(typed)).toBe(hash);
  expect(templateHash(typed, 3)).toBe(after3);
});

test('each field counts', () => {
  const other = { ...full, spec: { ...full.spec, hostIPC: true } } as unknown as PodTemplate;
  expect(templateDump(other)).toContain('HostIPC:(bool)true');
  expect(templateHash(other)).not.toBe('79978c9d96');
});
