import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  identityFromLabels,
  newContainerAnnotations,
  newContainerLabels,
  newPodLabels,
  recordFromAnnotations,
} from '../../../../src/containers/kuberuntime/config/labels.ts';
import { toContainerStatus } from '../../../../src/containers/kuberuntime/config/convert.ts';
import { restartCountFromLogs } from '../../../../src/containers/paths/log-paths.ts';
import { terminationMessage } from '../../../../src/containers/kuberuntime/termination-message.ts';
import { expand } from '../../../../src/kube/expansion.ts';
import { noFiles } from '../../../support/no-files.ts';

const pod = {
  metadata: {
    name: 'web',
    namespace: 'ns',
    uid: 'u',
    labels: { app: 'x', 'io.kubernetes.pod.name': 'forged' },
    deletionGracePeriodSeconds: 5,
  },
  spec: { containers: [], terminationGracePeriodSeconds: 30 },
};
const container = {
  name: 'c1',
  image: 'busybox',
  terminationMessagePath: '/dev/termination-log',
  terminationMessagePolicy: 'File',
  ports: [{ containerPort: 80, protocol: 'TCP' }],
  lifecycle: { preStop: { sleep: { seconds: 3 } } },
};

test('labels name the pod, whatever its own labels say', () => {
  expect(newPodLabels(pod)).toEqual({
    app: 'x',
    'io.kubernetes.pod.name': 'web',
    'io.kubernetes.pod.namespace': 'ns',
    'io.kubernetes.pod.uid': 'u',
  });
});

test('annotations are those of any kubelet, so that each adopts the containers of the other', () => {
  expect(
    newContainerAnnotations(container, pod, 2, { 'io.kubernetes.container.restartCount': '9', own: 'y' }),
  ).toEqual({
    own: 'y',
    'io.kubernetes.container.hash': 'f90b3b7b',
    'io.kubernetes.container.restartCount': '2',
    'io.kubernetes.container.terminationMessagePath': '/dev/termination-log',
    'io.kubernetes.container.terminationMessagePolicy': 'File',
    'io.kubernetes.container.preStopHandler': '{"sleep":{"seconds":3}}',
    'io.kubernetes.container.ports': '[{"containerPort":80,"protocol":"TCP"}]',
    'io.kubernetes.pod.deletionGracePeriod': '5',
    'io.kubernetes.pod.terminationGracePeriod': '30',
  });
});

test('ports and handlers are written in a kubelet’s order, whatever the order of the manifest', () => {
  const ports = [{ protocol: 'UDP', containerPort: 53, hostIP: '::1', hostPort: 5353, name: 'dns' }];
  const httpGet = { scheme: 'HTTP', httpHeaders: [{ value: 'v', name: 'n' }], port: 80, path: '/' };
  const annotations = newContainerAnnotations(
    { ...container, ports, lifecycle: { preStop: { httpGet } } },
    pod,
    0,
  );
  expect(annotations).toMatchObject({
    'io.kubernetes.container.ports':
      '[{"name":"dns","hostPort":5353,"containerPort":53,"protocol":"UDP","hostIP":"::1"}]',
    'io.kubernetes.container.preStopHandler':
      '{"httpGet":{"path":"/","port":80,"scheme":"HTTP","httpHeaders":[{"name":"n","value":"v"}]}}',
  });
});

test('of ports and handlers what is zero is not written', () => {
  const ports = [{ name: '', containerPort: 0, hostPort: 0, protocol: '', hostIP: '' }];
  const httpGet = { path: '', host: '', port: 0, httpHeaders: [{ name: '', value: '' }] };
  const annotations = newContainerAnnotations(
    { ...container, ports, lifecycle: { preStop: { httpGet, exec: { command: [] } } } },
    pod,
    0,
  );
  expect(annotations).toMatchObject({
    'io.kubernetes.container.ports': '[{"containerPort":0}]',
    'io.kubernetes.container.preStopHandler':
      '{"exec":{},"httpGet":{"port":0,"httpHeaders":[{"name":"","value":""}]}}',
  });
});

test('what is written is read back', () => {
  expect(recordFromAnnotations(newContainerAnnotations(container, pod, 2))).toMatchObject({
    restartCount: 2,
    terminationMessagePath: '/dev/termination-log',
    podDeletionGracePeriodSeconds: 5,
    podTerminationGracePeriodSeconds: 30,
    preStop: container.lifecycle.preStop,
    ports: container.ports,
  });
  expect(identityFromLabels(newContainerLabels(container, pod))).toEqual({
    podName: 'web',
    podNamespace: 'ns',
    podUid: 'u',
    containerName: 'c1',
  });
});

test('foreign annotations of any text are read without a fault', () => {
  const key = fc.constantFrom(...Object.keys(newContainerAnnotations(container, pod, 0)));
  fc.assert(
    fc.property(fc.dictionary(key, fc.string()), (annotations) => {
      expect(Number.isFinite(recordFromAnnotations(annotations).hash)).toBe(true);
    }),
  );
});

test.for([
  ['leading zeros', '00000000000000000000000a', 10, '007', 7],
  ['the most that 64 bits hold', 'ffffffffffffffff', 2 ** 64, '9223372036854775807', 2 ** 63],
  ['more than 64 bits hold', '10000000000000000', 0, '9223372036854775808', 0],
  ['no numbers', '0x1', 0, '1_0', 0],
] as const)('hash and restart count are read as Go does: %s', ([, hash, hashed, count, counted]) => {
  const annotations = { 'io.kubernetes.container.hash': hash, 'io.kubernetes.container.restartCount': count };
  expect(recordFromAnnotations(annotations)).toMatchObject({ hash: hashed, restartCount: counted });
});

test('logs tell the next start, whatever else lies beside them (R183)', () => {
  const files = ['notes', '-7.log', '2.txt', '010.log', '9223372036854775807.log', `${'9'.repeat(30)}.log`];
  expect(restartCountFromLogs(files)).toBe(11);
  expect(restartCountFromLogs(['9007199254740992.log.gz'])).toBe(9_007_199_254_740_992);
  expect(restartCountFromLogs([])).toBe(0);
});

test('CPU of zero is not reported, so that the actuated value counts', () => {
  const linux = { cpuShares: 1, cpuPeriod: 100_000, cpuQuota: 99 };
  const actuated = { requests: { cpu: '100m', memory: '64Mi' } };
  const { resources } = toContainerStatus({ resources: { linux } }, 'containerd', actuated);
  expect(resources).toEqual({
    cpuRequest: 100,
    cpuLimit: 0,
    memoryRequest: 67_108_864,
    memoryLimit: 0,
  });
});

const status = (policy: string, more = {}) => ({
  exitCode: 1,
  logPath: '/log',
  mounts: [{ containerPath: '/dev/termination-log', hostPath: '/file' }],
  annotations: newContainerAnnotations({ ...container, terminationMessagePolicy: policy }, pod, 0),
  ...more,
});
const relative = {
  annotations: newContainerAnnotations(
    { ...container, terminationMessagePath: 'dev/./termination-log/' },
    pod,
    0,
  ),
};
const files = (text: string) => ({ ...noFiles, readEnd: async () => Buffer.from(text) });
const fallback = 'FallbackToLogsOnError';

test.for([
  ['what the file says', status(fallback), files('bye'), 'bye'],
  ['what the file at a relative path says', status(fallback, relative), files('bye'), 'bye'],
  ['the end of the log when the file is empty', status(fallback), files(''), 'last line\n'],
  ['the end of the log when there is no file', status(fallback), noFiles, 'last line\n'],
  ['nothing with policy File', status('File'), files(''), ''],
  ['nothing after a success', status(fallback, { exitCode: 0 }), files(''), ''],
  [
    'nothing of a container that never ran',
    status(fallback, { reason: 'ContainerCannotRun' }),
    files(''),
    '',
  ],
] as const)('a termination message is %s', async ([, given, disk, wanted]) => {
  expect(await terminationMessage(given, disk, async () => 'last line\n')).toBe(wanted);
});

test('a termination message from the log is at most 2048 bytes, its end', async () => {
  const message = await terminationMessage(
    status(fallback),
    noFiles,
    async () => `start${'x'.repeat(3000)}end`,
  );
  expect(message).toHaveLength(2048);
  expect(message.endsWith('xend')).toBe(true);
});

test.for([
  ['$(A)-$(B)', '1-$(B)'],
  ['$$(A) $$', '$(A) $'],
  ['$(A', '$(A'],
  ['$(', '$('],
  ['$', '$'],
  ['$()', '$()'],
  ['$x$(A)', '$x1'],
] as const)('%s expands to %s', ([text, wanted]) => {
  expect(expand(text, (name) => (name === 'A' ? '1' : undefined))).toBe(wanted);
});

test('expansion of any text ends, and without references changes only doubled dollars', () => {
  fc.assert(
    fc.property(fc.string(), (text) => {
      expect(expand(text, () => undefined)).toBe(text.replaceAll('$$', '$'));
    }),
  );
});
