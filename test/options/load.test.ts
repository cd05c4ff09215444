import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { decodeKubeletConfiguration } from '../../src/options/decode.ts';
import { explain } from '../../src/options/explain.ts';
import { flagTargets } from '../../src/options/flags.ts';
import { loadOptions } from '../../src/options/load.ts';
import { OptionsError } from '../../src/options/options-error.ts';
import type { OptionSources } from '../../src/options/origin.ts';

const head = 'apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n';
const load = (sources: OptionSources & { text?: string }): ReturnType<typeof loadOptions> =>
  loadOptions({
    ...(sources.text !== undefined && {
      configFile: '/c.yaml',
      readText: () => `${head}${sources.text ?? ''}`,
    }),
    ...sources,
  });

function faultsOf(sources: Parameters<typeof load>[0]): string[] {
  try {
    load(sources);
  } catch (reason) {
    if (reason instanceof OptionsError)
      return reason.faults.map(({ from, line, path, message, allowed }) =>
        [from, line, path, message, allowed].filter((part) => part !== undefined && part !== '').join(' | '),
      );
    throw reason;
  }
  return [];
}

describe('precedence', () => {
  test('without any source every value is a default', () => {
    const options = load({});
    expect(options.kubelet.maxPods).toBe(110);
    expect(explain(options).every(({ from }) => from === 'default')).toBe(true);
  });

  test('a flag comes before the file, the file before the default', () => {
    const options = load({ flags: { 'max-pods': '7' }, text: 'maxPods: 5\nport: 1234\n' });
    expect(options.kubelet).toMatchObject({ maxPods: 7, port: 1234, syncFrequency: '1m0s' });
    const from = Object.fromEntries(explain(options).map((row) => [row.path, row.from]));
    expect(from).toMatchObject({ maxPods: '--max-pods', port: '/c.yaml:4', syncFrequency: 'default' });
  });

  test('credentials for the manifest server are not printed', () => {
    const text =
      'staticPodURL: "http://me:hidden@h/x"\nstaticPodURLHeader: {Authorization: ["Bearer hidden"]}\n';
    const rows = explain(load({ text }));
    expect(JSON.stringify(rows)).not.toContain('hidden');
    expect(rows).toContainEqual(
      expect.objectContaining({ path: 'staticPodURL', value: 'http://me:***@h/x' }),
    );
  });

  test('drop-ins come over the file in the order of their names, mappings joined and lists replaced', () => {
    const texts: Readonly<Record<string, string>> = {
      '/c.yaml':
        'port: 1\nclusterDNS: [1.1.1.1, 2.2.2.2]\nsystemReserved: {cpu: "1", memory: 1Gi}\nmaxPods: 5\n',
      '/d/20.conf': 'port: 3\nsystemReserved: {memory: 3Gi}\n',
      '/d/10/a.conf': 'port: 2\nclusterDNS: [3.3.3.3]\nreadOnlyPort: 7\n',
      '/d/30.yaml': 'port: 4\n',
    };
    const options = load({
      configFile: '/c.yaml',
      flags: { 'config-dir': '/d', 'max-pods': '9' },
      readText: (path) => `${head}${texts[path] ?? ''}`,
      listFiles: (folder) => Object.keys(texts).filter((path) => path.startsWith(`${folder}/`)),
    });
    expect(options.kubelet).toMatchObject({
      ...{ port: 3, readOnlyPort: 7, maxPods: 9, clusterDNS: ['3.3.3.3'] },
      systemReserved: { cpu: '1', memory: '3Gi' },
    });
    const from = Object.fromEntries(explain(options).map((row) => [row.path, row.from]));
    expect(from).toMatchObject({
      port: '/d/20.conf:3',
      clusterDNS: '/d/10/a.conf:4',
      'systemReserved.cpu': '/c.yaml:5',
      'systemReserved.memory': '/d/20.conf:4',
    });
  });

  test('a folder of drop-ins may be none, but not one that is not there or holds what is wrong', () => {
    expect(load({ flags: { 'config-dir': '' } }).kubelet.port).toBe(10_250);
    expect(faultsOf({ flags: { 'config-dir': '/not-there' } })[0]).toContain(
      '/not-there | the folder cannot be read: open /not-there: no such file or directory',
    );
    const readText = (path: string): string => `${head}${path === '/d/a.conf' ? 'port: 99999999\n' : ''}`;
    const listFiles = (): readonly string[] => ['/d/a.conf'];
    expect(faultsOf({ configFile: '/c.yaml', flags: { configDir: '/d' }, readText, listFiles })[0]).toContain(
      '/d/a.conf | 3 | port | ',
    );
  });

  test('a flag comes before its variable', () => {
    const env = { NODE_NAME: 'from-env', KUBECONFIG: '/k' };
    expect(load({ env }).agent).toMatchObject({ nodeName: 'from-env', kubeconfig: '/k' });
    expect(load({ env, flags: { hostnameOverride: 'From-Flag' } }).agent.nodeName).toBe('from-flag');
    expect(explain(load({ env })).find(({ path }) => path === 'kubeconfig')?.from).toBe('$KUBECONFIG');
  });

  test('a flag that sets a mapping replaces the mapping of the file', () => {
    const options = load({
      flags: { 'eviction-hard': 'memory.available<5%' },
      text: 'evictionHard: {nodefs.available: 1%}\n',
    });
    expect(options.kubelet.evictionHard).toEqual({ 'memory.available': '5%' });
    expect(explain(options).find(({ path }) => path === 'evictionHard.memory.available')?.from).toBe(
      '--eviction-hard',
    );
  });

  test('certificates follow the root directory, debug logs follow --v', () => {
    const { agent } = load({ flags: { rootDir: '/r', v: '4' } });
    expect(agent).toMatchObject({ rootDir: '/r', certDir: '/r/pki', logLevel: 'debug' });
    expect(load({ flags: { v: '4', 'log-level': 'error' } }).agent.logLevel).toBe('error');
  });

  test('the cloud and dead containers are set by flags alone', () => {
    const flags = {
      'cloud-provider': 'external',
      'maximum-dead-containers': '9',
      'maximum-dead-containers-per-container': '2',
      'minimum-container-ttl-duration': '90s',
    };
    expect(load({ flags }).agent).toMatchObject({
      cloudProvider: 'external',
      maximumDeadContainers: 9,
      maximumDeadContainersPerContainer: 2,
      minimumContainerTtlDuration: '90s',
    });
    expect(load({ flags: { 'cloud-provider': '' } }).agent.cloudProvider).toBe('');
    for (const span of ['-1s', 'soon'])
      expect(
        faultsOf({ flags: { 'minimum-container-ttl-duration': span, 'cloud-provider': 'aws' } }),
      ).toEqual([
        '--cloud-provider | cloudProvider | no such value | external',
        '--minimum-container-ttl-duration | minimumContainerTtlDuration | no such span of time | 0s and more',
      ]);
  });

  test('--config names the file', () => {
    const options = loadOptions({
      flags: { config: '/x.yaml' },
      readText: (path) => `${head}providerID: "${path}"\n`,
    });
    expect(options.kubelet.providerID).toBe('/x.yaml');
  });
});

describe('flags', () => {
  test.for([
    ['cluster-dns', '10.0.0.10,10.0.0.11', 'clusterDNS', ['10.0.0.10', '10.0.0.11']],
    ['feature-gates', 'MemoryQoS=true,AllAlpha=false', 'featureGates', { MemoryQoS: true, AllAlpha: false }],
    [
      'register-with-taints',
      'a=b:NoSchedule,c:NoExecute',
      'registerWithTaints',
      [
        { key: 'a', value: 'b', effect: 'NoSchedule' },
        { key: 'c', effect: 'NoExecute' },
      ],
    ],
    [
      'reserved-memory',
      '0:memory=1Gi;1:memory=2Gi',
      'reservedMemory',
      [
        { numaNode: 0, limits: { memory: '1Gi' } },
        { numaNode: 1, limits: { memory: '2Gi' } },
      ],
    ],
    ['manifest-url-header', ['A:1', 'A:2'], 'staticPodURLHeader', { A: ['1', '2'] }],
    ['sync-frequency', '90s', 'syncFrequency', '1m30s'],
    ['register-node', false, 'registerNode', false],
    ['maxPods', 12, 'maxPods', 12],
  ] as const)('--%s %j', ([flag, given, name, value]) => {
    const { kubelet } = load({ flags: { [flag]: given } });
    expect(kubelet[name]).toEqual(value);
  });

  test.for([
    [{ bogus: 'x' }, '--bogus | there is no such flag'],
    [{ 'max-podz': '1' }, '--max-podz | there is no such flag; did you mean --max-pods?'],
    [{ 'max-pods': 'many' }, '--max-pods | maxPods | "many" is not a number | 0 or more'],
    [{ 'fail-swap-on': 'perhaps' }, '--fail-swap-on | failSwapOn | "perhaps" is neither true nor false'],
    [{ 'feature-gates': 'A' }, '--feature-gates | featureGates | "A" is not key=value'],
    [{ 'feature-gates': 'A=x' }, '--feature-gates | featureGates | A: "x" is neither true nor false'],
    [{ 'manifest-url-header': 'A' }, '--manifest-url-header | staticPodURLHeader | "A" is not Name:value'],
    [
      { 'reserved-memory': 'x' },
      '--reserved-memory | reservedMemory | "x" is not of the form 0:memory=1Gi;1:memory=2Gi',
    ],
    [
      { 'sync-frequency': '5x' },
      '--sync-frequency | syncFrequency | failed to decode: time: unknown unit "x" in duration "5x" | a span, e.g. 10s or 1m30s',
    ],
    [{ 'log-level': 'loud' }, '--log-level | logLevel | no such value | debug, info, warn, error, silent'],
    [
      { 'hostname-override': 'a_b' },
      '--hostname-override | hostnameOverride | not a name of a Node | a DNS-1123 subdomain of at most 253 characters',
    ],
    [
      { port: '70000' },
      '--port | port | invalid configuration: port (--port) 70000 must be between 1 and 65535, inclusive | 1 to 65535',
    ],
  ] as const)('%j is refused', ([flags, fault]) => {
    expect(faultsOf({ flags })).toEqual([fault]);
  });

  test('a taint that is none says what is wanted', () => {
    expect(faultsOf({ flags: { 'register-with-taints': 'a=b' } })[0]).toContain('want key[=value]:effect');
  });

  test('no two settings share a flag', () => {
    expect(flagTargets.get('port')?.path).toEqual(['port']);
    expect(new Set([...flagTargets.values()].map(({ path }) => path.join('.'))).size).toBe(flagTargets.size);
  });
});

describe('the file', () => {
  test('every fault is named at once, with its place', () => {
    expect(
      faultsOf({
        text: 'maxPods: foo\nauthentication: {webhook: {cacheTTL: soon}}\n',
        flags: { output: 'xml' },
      }),
    ).toEqual([
      '/c.yaml | 4 | authentication.webhook.cacheTTL | failed to decode: time: invalid duration "soon" | a span, e.g. 10s or 1m30s',
      '/c.yaml | 3 | maxPods | failed to decode: json: cannot unmarshal string into Go struct field KubeletConfiguration.maxPods of type int32 | a whole number',
      '--output | output | no such value | auto, table, plain, json',
    ]);
    expect(faultsOf({ text: 'eventBurst: -1\nmaxPods: -1\n' })).toHaveLength(2);
  });

  test('unknown and double settings warn, with their place and the likely name', () => {
    const { warnings } = load({ text: 'maxPodz: 1\nport: 1\nport: 2\nlogging: {formt: text}\n' });
    const lines = warnings.map(
      ({ from, line, path, message }) => `${from ?? ''}:${line ?? ''} ${path} ${message}`,
    );
    expect(lines.sort()).toEqual([
      '/c.yaml:3 maxPodz there is no such setting, it is ignored; did you mean maxPods?',
      '/c.yaml:5 port the setting is given twice; the last one counts',
      '/c.yaml:6 logging.formt there is no such setting, it is ignored; did you mean format?',
    ]);
  });

  test('a file that cannot be read, is broken or is of another kind', () => {
    const readText = (): string => {
      throw new Error('EACCES: permission denied');
    };
    expect(faultsOf({ configFile: '/c.yaml', readText })).toEqual([
      '/c.yaml | the file cannot be read: EACCES: permission denied',
    ]);
    expect(faultsOf({ configFile: '/c.yaml', readText: () => 'a: [' })[0]).toContain(
      '/c.yaml | 1 | failed to decode: yaml',
    );
    expect(faultsOf({ configFile: '/c.yaml', readText: () => 'kind: Pod\napiVersion: v1\n' })[0]).toContain(
      'no kind "Pod"',
    );
  });

  test('gates that cannot be so are refused instead of a panic', () => {
    expect(faultsOf({ text: 'featureGates: {GracefulNodeShutdown: false}\n' })[0]).toContain(
      'turn both off, or neither',
    );
    expect(faultsOf({ text: 'featureGates: {NodeSwap: false}\n' })[0]).toContain('locked to true');
  });
});

test('any text gives settings or the declared error (fuzz)', () => {
  const piece = fc.constantFrom(
    'maxPods: ',
    'port: 1',
    '\n',
    '  ',
    '- ',
    '[',
    '}',
    '&a ',
    '*a',
    '"',
    'null',
    '0x1F',
    '1e999',
    'syncFrequency: 5s',
    '\t',
    '# c',
    '---\n',
    '<<: ',
    'authentication:\n  webhook:',
  );
  fc.assert(
    fc.property(fc.array(fc.oneof(piece, fc.string({ maxLength: 8 })), { maxLength: 12 }), (parts) => {
      try {
        decodeKubeletConfiguration(head + parts.join(''));
      } catch (reason) {
        expect(reason).toBeInstanceOf(OptionsError);
      }
    }),
    { numRuns: 400 },
  );
});

test('defaults are a fixed point: reading what was filled in changes nothing', () => {
  const { kubelet } = load({ text: 'maxParallelImagePulls: 3\nnodeStatusUpdateFrequency: 5s\n' });
  expect(decodeKubeletConfiguration(JSON.stringify(kubelet)).config).toEqual(kubelet);
});
