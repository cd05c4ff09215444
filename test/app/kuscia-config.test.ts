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
    expect(notes.map((note) => note.split(':')[0])).toEqual([
      'log.filename',
      'source.apiserver.endpoint',
      'capacity.cpu',
    ]);
  });

  test('pods in a second cluster: the settings of the kubernetes provider', () => {
    const { flags, notes } = kusciaSettings(
      {
        capacity: { cpu: 8, storage: '1Ti' },
        provider: {
          runtime: 'runk',
          k8s: {
            kubeconfigFile: 'b.conf',
            namespace: 'alice',
            labelsToAdd: { a: 'b' },
            dns: { servers: ['192.0.2.53'], policy: 'None' },
            runtimeClassName: 'gvisor',
          },
        },
        registry: { default: { repository: 'r.example/a', username: 'u', password: 'hidden' } },
      },
      'run',
      '/etc/kuscia/agent.yaml',
    );
    expect(notes).toEqual([
      'provider.k8s.dns.policy: pods keep the dnsPolicy of their spec; servers and searches are added',
    ]);
    expect(flags).toContain('--provider=kubernetes');
    expect(flags).toContain('--image-registries=/etc/kuscia/agent.yaml');
    const config = flags
      .find((flag) => flag.startsWith('--provider-config='))
      ?.slice('--provider-config='.length);
    expect(JSON.parse(config ?? '')).toEqual({
      kubeconfig: '/etc/kuscia/b.conf',
      namespace: 'alice',
      leaderElection: { namespace: 'alice' },
      runtimeClassName: 'gvisor',
      labels: { a: 'b' },
      dns: { nameservers: ['192.0.2.53'] },
      capacity: { cpu: '8', 'ephemeral-storage': '1Ti' },
    });
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
      '--middleware=configRender',
      '--middleware=envImport={"rules":[{"selector":{"matchLabels":{"app":"web"}},"env":[{"name":"A","value":"1"}]}]}',
      '--middleware=resourceFilter={"remove":["kuscia.secretflow/*"]}',
    ]);
    expect(notes).toContain('plugins[4]: "other" has no meaning here');
  });

  test('a namespace is mapped to that of the backing cluster, and pods of others are refused', () => {
    const document = { namespace: 'alice', provider: { runtime: 'runk', k8s: { namespace: 'bk' } } };
    const { flags, notes } = kusciaSettings(document, 'run', '/agent.yaml');
    const config = flags.find((flag) => flag.startsWith('--provider-config='))?.split('=')[1];
    expect(kubernetesSettings(JSON.parse(config ?? ''))).toEqual({
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
    const cwd = written('node: { nodeName: alice }\nhead: true\n');
    for (const option of [['--kuscia-config', 'agent.yaml'], ['--kuscia-config=agent.yaml']]) {
      const { args, notes } = withKusciaConfig(['run', '--node-name=bob', ...option, '--v=2'], cwd);
      expect(args).toEqual(['run', '--node-name=alice', '--provider=cri', '--node-name=bob', '--v=2']);
      expect(notes).toEqual(['--kuscia-config agent.yaml: head: has no meaning here']);
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
