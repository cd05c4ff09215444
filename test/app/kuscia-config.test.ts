import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { kusciaSettings, withKusciaConfig } from '../../src/app/kuscia-config.ts';
import { kubernetesSettings } from '../../src/providers/kubernetes/index.ts';

const written = (text: string): string => {
  const dir = mkdtempSync(join(tmpdir(), 'kuscia-'));
  onTestFinished(() => {
    rmSync(dir, { recursive: true });
  });
  writeFileSync(join(dir, 'agent.yaml'), text);
  return dir;
};

const subjects = (notes: readonly string[]): readonly string[] =>
  notes.map((note) => note.split(':')[0] ?? '');

/** The settings of the kubernetes provider, checked as it checks them. */
const backingOf = (flags: readonly string[]): ReturnType<typeof kubernetesSettings> => {
  const flag = '--provider-config=';
  const text = flags.find((one) => one.startsWith(flag))?.slice(flag.length);
  return kubernetesSettings(JSON.parse(text ?? ''));
};

describe('kusciaSettings', () => {
  test('a node with a container runtime', () => {
    const { flags, notes } = kusciaSettings(
      {
        rootDir: '/home/kuscia',
        NodeIP: '192.0.2.1',
        capacity: { pods: '200', cpu: '4' },
        log: { level: 'INFO', filename: 'agent.log' },
        source: {
          apiserver: { kubeconfigFile: '/etc/k.conf', qps: 250, burst: 500, endpoint: 'https://a' },
          file: { enable: true, path: '/pods', period: '5s' },
        },
        framework: { syncFrequency: '10s' },
        provider: {
          runtime: 'runc',
          cri: { remoteRuntimeEndpoint: 'unix:///c.sock', clusterDNS: ['192.0.2.53'] },
        },
        node: { nodeName: 'alice', keepNodeOnExit: true },
      },
      'run',
      '/agent.yaml',
    );
    expect(flags).toEqual([
      '--data-dir=/home/kuscia',
      '--node-ip=192.0.2.1',
      '--log-level=info',
      '--kubeconfig=/etc/k.conf',
      '--kube-api-qps=250',
      '--kube-api-burst=500',
      '--manifests=/pods',
      '--file-check-frequency=5s',
      '--sync-frequency=10s',
      '--node-name=alice',
      '--exit-policy=keep',
      '--provider=cri',
      '--max-pods=200',
      '--container-runtime-endpoint=unix:///c.sock',
      '--cluster-dns=192.0.2.53',
    ]);
    expect(subjects(notes)).toEqual(['log.filename', 'source.apiserver.endpoint', 'capacity.cpu', 'plugins']);
  });

  test('what is reserved, and where logs are', () => {
    const { flags, notes } = kusciaSettings(
      {
        rootDir: '/home/kuscia',
        stdoutPath: 'var/stdout',
        capacity: { bandwidth: '1000', storage: '100Gi' },
        reservedResources: { cpu: 0.5, memory: '500Mi', bandwidth: '10' },
        plugins: [],
      },
      'run',
      '/agent.yaml',
    );
    expect(flags).toEqual([
      '--data-dir=/home/kuscia',
      '--provider=cri',
      '--pod-logs-dir=/home/kuscia/var/stdout/pods',
      '--system-reserved=cpu=0.5,memory=500Mi',
    ]);
    expect(notes).toEqual([
      "capacity.bandwidth: the machine has no kuscia.io/bandwidth; add it to the Node's status.capacity",
      'capacity.storage: the node has what the machine has',
      "reservedResources.bandwidth: the machine has no kuscia.io/bandwidth; add it to the Node's status.capacity",
    ]);
    expect(kusciaSettings({ stdoutPath: 'out', plugins: [] }, 'run', '/a').notes).toEqual([
      'stdoutPath: a relative path needs rootDir',
    ]);
  });

  test('processes instead of containers: settings of a container runtime are named', () => {
    const cri = {
      remoteRuntimeEndpoint: 'unix:///c.sock',
      containerLogMaxSize: '512Mi',
      containerLogMaxFiles: 5,
      clusterDNS: ['192.0.2.53'],
      localRuntime: { sandboxRootDir: 'sandbox' },
    };
    const document = {
      provider: { runtime: 'runp', cri, k8s: { namespace: 'x' } },
      stdoutPath: '/out',
      source: { file: { path: '/pods' } },
      plugins: [{ name: 'bandwidth-filter' }],
    };
    const { flags, notes } = kusciaSettings(document, 'run', '/agent.yaml');
    expect(flags).toEqual([
      '--provider=oci',
      '--container-log-max-size=512Mi',
      '--container-log-max-files=5',
    ]);
    expect(subjects(notes)).toEqual([
      'source.file.path',
      'stdoutPath',
      'provider.k8s',
      'provider.cri.remoteRuntimeEndpoint',
      'provider.cri.clusterDNS',
      'provider.cri.localRuntime',
    ]);
  });

  test("kuscia's own file says what its agent does", () => {
    const document = {
      mode: 'lite',
      domainID: 'alice',
      domainKeyData: 'hidden',
      logLevel: 'WARN',
      runtime: 'runk',
      runk: { namespace: 'bk', dnsServers: ['192.0.2.53'], kubeconfigFile: '/b.conf', enableLogging: true },
      capacity: { cpu: 4, memory: '8Gi' },
      agent: { plugins: [], allowPrivileged: true },
    };
    const { flags, notes } = kusciaSettings(document, 'run', '/kuscia.yaml');
    expect(flags.slice(0, -1)).toEqual(['--log-level=warn', '--provider=kubernetes']);
    expect(backingOf(flags)).toEqual({
      kubeconfig: '/b.conf',
      namespaces: { alice: 'bk' },
      leaderElection: { namespace: 'bk' },
      dns: { policy: 'None', nameservers: ['192.0.2.53'] },
      capacity: { cpu: '4', memory: '8Gi' },
    });
    expect(subjects(notes)).toEqual(['domainKeyData', 'allowPrivileged', 'provider.k8s.enableLogging']);
    expect(notes.join()).not.toContain('hidden');
  });

  test('pods in a second cluster: the settings of the kubernetes provider', () => {
    const affinity = { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: {} } };
    const { flags, notes } = kusciaSettings(
      {
        capacity: { cpu: 8, storage: '1Ti', ephemeralStorage: '100Gi', bandwidth: '1000' },
        reservedResources: { cpu: '0.5' },
        provider: {
          runtime: 'runk',
          k8s: {
            kubeconfigFile: 'b.conf',
            namespace: 'alice',
            labelsToAdd: { a: 'b' },
            affinitiesToAdd: affinity,
            dns: { servers: ['192.0.2.53'], policy: 'ClusterFirst' },
            runtimeClassName: 'gvisor',
            enableLogging: true,
          },
        },
        registry: { default: { repository: 'r.example/a', username: 'u', password: 'hidden' } },
        plugins: [{ name: 'bandwidth-filter' }, { name: 'bandwidth-filter', config: { stripOnRunk: false } }],
      },
      'run',
      '/etc/kuscia/agent.yaml',
    );
    expect(subjects(notes)).toEqual(['reservedResources.cpu', 'provider.k8s.enableLogging']);
    expect(flags).toContain('--provider=kubernetes');
    expect(flags).toContain('--image-registries=/etc/kuscia/agent.yaml');
    expect(flags.filter((flag) => flag.startsWith('--middleware='))).toEqual([
      '--middleware=resourceFilter={"remove":["kuscia.io/bandwidth"]}',
    ]);
    expect(backingOf(flags)).toEqual({
      kubeconfig: '/etc/kuscia/b.conf',
      namespace: 'alice',
      leaderElection: { namespace: 'alice' },
      runtimeClassName: 'gvisor',
      labels: { a: 'b' },
      affinity,
      dns: { policy: 'ClusterFirst', nameservers: ['192.0.2.53'] },
      capacity: {
        cpu: '8',
        storage: '1Ti',
        'ephemeral-storage': '100Gi',
        'kuscia.io/bandwidth': '1000',
      },
    });
  });

  test('servers without a policy take the place of those of the backing cluster, as in kuscia', () => {
    const dnsOf = (dns: object): unknown => {
      const document = { provider: { runtime: 'runk', k8s: { dns } }, plugins: [] };
      const { flags, notes } = kusciaSettings(document, 'run', '/a');
      return [backingOf(flags).dns, subjects(notes)];
    };
    const servers = ['192.0.2.53'];
    expect(dnsOf({ servers })).toEqual([{ policy: 'None', nameservers: servers }, []]);
    expect(dnsOf({ policy: 'None' })).toEqual([undefined, ['provider.k8s.dns.policy']]);
    expect(dnsOf({ policy: 'Default' })).toEqual([{ policy: 'Default' }, []]);
    expect(dnsOf({ resolverConfig: '/r' })).toEqual([undefined, ['provider.k8s.dns.resolverConfig']]);
  });

  test('plug-ins are the middleware that ships; others are named', () => {
    const { flags, notes } = kusciaSettings(
      {
        cert: { signingCertFile: '/ca.crt', signingKeyFile: '/ca.key' },
        plugins: [
          { name: 'cert-issuance' },
          { name: 'config-render' },
          {
            name: 'env-import',
            config: {
              envList: [{ envs: [{ name: 'A', value: '1' }], selectors: [{ key: 'app', value: 'web' }] }],
            },
          },
          { name: 'bandwidth-filter' },
          { name: 'other' },
        ],
      },
      'run',
      '/agent.yaml',
    );
    expect(flags.filter((flag) => flag.startsWith('--middleware='))).toEqual([
      '--middleware=podCertificates={"authority":{"certFile":"/ca.crt","keyFile":"/ca.key"}}',
      '--middleware=configRender={"volumesAnnotation":"kuscia.secretflow/config-template-volumes","valuesConfigMapAnnotation":"kuscia.secretflow/config-template-value-cm-name"}',
      '--middleware=envImport={"rules":[{"selector":{"matchLabels":{"app":"web"}},"env":[{"name":"A","value":"1"}]}],"limits":true}',
    ]);
    expect(notes).toContain('plugins[4]: "other" has no meaning here');
  });

  test('variables for images with a label are named, unless only labels of pods count', () => {
    const envList = [
      { envs: [{ name: 'A', value: '1' }], selectors: [{ key: 'app', value: 'web' }] },
      { envs: [{ name: 'B', value: '2' }] },
    ];
    const read = (runtime: string): ReturnType<typeof kusciaSettings> =>
      kusciaSettings(
        {
          provider: { runtime },
          plugins: [{ name: 'env-import', config: { usePodLabels: false, envList } }],
        },
        'run',
        '/a',
      );
    expect(read('runp').flags).toContain(
      '--middleware=envImport={"rules":[{"env":[{"name":"B","value":"2"}]}],"limits":true}',
    );
    expect(subjects(read('runp').notes)[0]).toBe('plugins[0] (env-import).config.envList[0]');
    expect(read('runk').flags.join()).toContain('"matchLabels":{"app":"web"}');
  });

  test('a namespace is mapped to that of the backing cluster, and pods of others are refused', () => {
    const provider = { runtime: 'runk', k8s: { namespace: 'bk' } };
    const document = { namespace: 'alice', provider, plugins: [] };
    const { flags, notes } = kusciaSettings(document, 'run', '/agent.yaml');
    expect(backingOf(flags)).toEqual({
      namespaces: { alice: 'bk' },
      leaderElection: { namespace: 'bk' },
    });
    expect(notes).toEqual([]);
  });

  test('registries and their credentials are read from the file itself, so that no secret is on the command line', () => {
    const document = {
      registry: {
        default: { serverAddress: 'r.example', username: 'u', password: 'hidden' },
        allows: [{ repository: 'r.example/a', secretName: 'pull' }],
      },
      plugins: [],
    };
    const { flags, notes } = kusciaSettings(document, 'run', '/agent.yaml');
    expect(flags).toEqual(['--image-registries=/agent.yaml', '--provider=cri']);
    expect(notes).toEqual([]);
    expect(kusciaSettings(document, 'explain', '/agent.yaml')).toEqual({
      flags: [],
      notes: ['registry: no kubelet setting; --image-registries reads it'],
    });
  });

  test('a namespace and images that are checked by an annotation are named', () => {
    const document = { namespace: 'alice', plugins: [{ name: 'image-security' }] };
    expect(kusciaSettings(document, 'run', '/agent.yaml').notes).toEqual([
      'namespace: pods of every namespace that are bound to the node are run; bind only pods of alice',
      expect.stringMatching(/^plugins\[0\] \(image-security\): images are checked by digest/),
    ]);
  });

  test('the authority of the domain signs certificates when there is no other', () => {
    const document = {
      domainCAFile: '/d.crt',
      domainCAKeyFile: '/d.key',
      plugins: [{ name: 'cert-issuance' }],
    };
    expect(kusciaSettings(document, 'run', '/agent.yaml').flags).toContain(
      '--middleware=podCertificates={"authority":{"certFile":"/d.crt","keyFile":"/d.key"}}',
    );
  });

  test.each([
    [{ registry: [] }, /registry: must be a map/],
    [[], /the file: must be a map/],
    [{ provider: { runtime: 'runz' } }, /provider.runtime: "runz" is unknown; known are runc, runp, runk/],
    [{ plugins: {} }, /plugins: must be a list/],
    [{ NodeIP: ['192.0.2.1'] }, /--node-ip must be a text/],
  ])('%j is refused', (document, message) => {
    expect(() => kusciaSettings(document, 'run', '/agent.yaml')).toThrow(message);
  });
});

describe('withKusciaConfig', () => {
  test("the file's flags come before the user's own, wherever the option is", () => {
    const cwd = written('node: { nodeName: alice }\nconstructor: true\nplugins: []\n');
    for (const option of [['--kuscia-config', 'agent.yaml'], ['--kuscia-config=agent.yaml']]) {
      const { args, notes } = withKusciaConfig(['run', '--node-name=bob', ...option, '--v=2'], cwd);
      expect(args).toEqual(['run', '--node-name=alice', '--provider=cri', '--node-name=bob', '--v=2']);
      expect(notes).toEqual(['--kuscia-config agent.yaml: constructor: has no meaning here']);
    }
  });

  test('other command lines stay as they are', () => {
    expect(withKusciaConfig(['run', '--v=2'], '/').args).toEqual(['run', '--v=2']);
    expect(withKusciaConfig(['validate', '--kuscia-config=x'], '/').args).toEqual([
      'validate',
      '--kuscia-config=x',
    ]);
  });

  test('a file that is missing or wrong is named', () => {
    expect(() => withKusciaConfig(['up', '--kuscia-config', 'none.yaml'], '/')).toThrow(
      /--kuscia-config none.yaml: .*no such file/,
    );
    expect(() => withKusciaConfig(['up', '--kuscia-config'], '/')).toThrow(/needs the path of a file/);
  });
});
