import { hostname } from 'node:os';
import { Writable } from 'node:stream';
import { afterEach, expect, test, vi } from 'vitest';
import { pinoLogger } from '../../src/base/pino-logger.ts';
import { silentLogger } from '../../src/base/logger.ts';
import { agentSettings, effectiveOptions, kubeletApiOptions } from '../../src/app/agent-settings.ts';
import { reachOf } from '../../src/app/reach.ts';
import { loadOptions } from '../../src/options/load.ts';

afterEach(() => {
  vi.unstubAllEnvs();
});

const logger = pinoLogger(
  'info',
  new Writable({
    write: (_line, _as, done) => {
      done();
    },
  }),
);
const place = { certDir: '/none', nodeName: 'n', now: 0, logger };

const served = (featureGates: string): ReturnType<typeof kubeletApiOptions> =>
  kubeletApiOptions(loadOptions({ flags: { 'feature-gates': featureGates } }), {
    ...place,
  });

test.for([
  ['', { checkpoints: true, splitStreams: false }],
  ['ContainerCheckpoint=false,PodLogsQuerySplitStreams=true', { checkpoints: false, splitStreams: true }],
  ['AllAlpha=true,AllBeta=false', { checkpoints: false, splitStreams: true }],
] as const)('the feature gates %s decide what the kubelet API serves', ([gates, wanted]) => {
  expect(served(gates)).toMatchObject(wanted);
});

const apiOf = (flags: Record<string, string>, text = ''): ReturnType<typeof kubeletApiOptions> =>
  kubeletApiOptions(
    loadOptions({
      flags,
      configFile: '/c.yaml',
      readText: () => `apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n${text}`,
    }),
    place,
  );

test('the node’s logs, its command line and what it is are served as the settings say', () => {
  expect(apiOf({})).toMatchObject({
    logsRoot: '/var/log',
    commandLine: process.argv,
    program: { version: expect.stringMatching(/^v1\./) as string, runtimeVersion: process.version },
    disabled: { logs: false, profiling: false, debugFlags: false },
  });
  const off = apiOf({}, 'enableSystemLogHandler: false\nenableProfilingHandler: false\n');
  expect(off).toMatchObject({ disabled: { logs: true, profiling: true } });
  expect(off).not.toHaveProperty('logsRoot');
  expect(off).not.toHaveProperty('commandLine');
});

test('the log becomes as wordy as is asked for, and never quieter than was set', () => {
  const api = apiOf({});
  const levels = [0, 3, 4, 0].map((verbosity) => {
    api?.setVerbosity?.(verbosity);
    return logger.level;
  });
  expect(levels).toEqual(['warn', 'info', 'debug', 'warn']);
  apiOf({ 'log-level': 'info', v: '4' })?.setVerbosity?.(0);
  expect(logger.level).toBe('info');
  expect(apiOf({}, 'enableDebugFlagsHandler: false\n')).toMatchObject({ disabled: { debugFlags: true } });
});

test('every flag is listed with its effective value; headers, which may be credentials, are masked', () => {
  const header = 'staticPodURLHeader: {Authorization: [Bearer secret]}\n';
  const flags = apiOf({ 'max-pods': '7', 'cluster-dns': '1.1.1.1,2.2.2.2' }, header)?.flags?.();
  expect(flags).toMatchObject({
    'max-pods': '7',
    'cluster-dns': '[1.1.1.1,2.2.2.2]',
    'sync-frequency': '1m0s',
    'manifest-url-header': '<masked>',
  });
  expect(JSON.stringify(flags)).not.toContain('secret');
});

test('processors that are reserved by number count, whatever amounts say', () => {
  const settings = loadOptions({
    flags: {
      'reserved-cpus': '0-2,5',
      'kube-reserved': 'cpu=500m,memory=1Gi',
      'system-reserved': 'memory=2Gi',
    },
  });
  expect(agentSettings(settings).node).toMatchObject({
    systemReserved: { cpu: '4', memory: '2Gi' },
    kubeReserved: { memory: '1Gi' },
  });
});

test.for([
  [{ kubeletFlags: [] }, 'warn'],
  [{ kubeletFlags: ['--v=1'] }, 'warn'],
  [{ kubeletFlags: ['--v=2'] }, 'info'],
  [{ kubeletFlags: ['--v=4'] }, 'debug'],
  [{ kubeletFlags: ['--v=4'], logLevel: 'error' }, 'error'],
] as const)('with %o the log begins at %s', ([options, level]) => {
  expect(effectiveOptions(options).agent.logLevel).toBe(level);
});

test('the node is called as either flag says, or else as the environment, in lower case', () => {
  const nameOf = (kubeletFlags: readonly string[], nodeName?: string): string =>
    effectiveOptions({ kubeletFlags, ...(nodeName !== undefined && { nodeName }) }).agent.nodeName;
  vi.stubEnv('NODE_NAME', 'From-Env');
  expect([nameOf([]), nameOf(['--hostname-override=Worker-1']), nameOf([], 'worker-2')]).toEqual([
    'from-env',
    'worker-1',
    'worker-2',
  ]);
  vi.stubEnv('NODE_NAME', undefined);
  expect(nameOf([])).toBe(hostname().toLowerCase());
});

test('the cluster is reached by the flag’s kubeconfig, else by that of the environment', async () => {
  vi.stubEnv('KUBECONFIG', '/nowhere/env');
  const folders = { certDir: '/nowhere', dataDir: '/nowhere', logger: silentLogger };
  const reach = (kubeconfig?: string): Promise<unknown> =>
    reachOf(
      { ...(kubeconfig !== undefined && { kubeconfig }) },
      effectiveOptions({ kubeletFlags: [] }),
      folders,
    );
  await expect(reach()).rejects.toThrow('/nowhere/env');
  await expect(reach('/nowhere/flag')).rejects.toThrow('/nowhere/flag');
});

test('what becomes of the Node, and whether it is made anew, are flags', () => {
  const nodeOf = (kubeletFlags: readonly string[]): unknown =>
    agentSettings(effectiveOptions({ kubeletFlags })).node;
  expect(nodeOf([])).toMatchObject({ exitPolicy: 'keep', registerAgain: false });
  expect(nodeOf(['--exit-policy=delete', '--register-again'])).toMatchObject({
    exitPolicy: 'delete',
    registerAgain: true,
  });
  expect(() => nodeOf(['--exit-policy=stay'])).toThrow('keep, notReady, cordon, delete');
});
