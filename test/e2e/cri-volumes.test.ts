import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { chmodSync, chownSync, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import events from 'node:events';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Authority } from '../../src/pki/certificates.ts';
import type { Pod } from '../../src/kube/types.ts';
import { CriNode, noCriNode, onePod, shell, sleeps, waiting } from './cri-node.ts';
import { condition } from './podtender.ts';

const once = { restartPolicy: 'Never' };
const isReady = (pod: Pod): boolean => condition(pod, 'Ready') === 'True';
const hasEnded = (pod: Pod): boolean => pod.status?.phase === 'Succeeded' || pod.status?.phase === 'Failed';

/** What pods find on disk on a whole node, and what becomes of it: all pods of one agent, all at the same time. */
describe.skipIf(noCriNode !== undefined)('volumes of a node', { timeout: 100_000, concurrent: true }, () => {
  let node: CriNode;

  beforeAll(async () => {
    const featureGates = { ClusterTrustBundle: true, ClusterTrustBundleProjection: true };
    node = await CriNode.start({ config: { syncFrequency: '2s', featureGates } });
  }, 60_000);

  afterAll(async () => {
    await node.stop();
  }, 60_000);

  const exec = async (pod: string, script: string): Promise<string> =>
    (await node.agent.ok(['exec', pod, '--', '/bin/sh', '-c', script])).trim();
  /** Runs a script with volumes at `/v/<name>` to its end and gives back what it said. */
  const says = async (
    name: string,
    script: string,
    volumes: Readonly<Record<string, object>>,
    more: object = {},
  ): Promise<string> => {
    const volumeMounts = Object.keys(volumes).map((volume) => ({ name: volume, mountPath: `/v/${volume}` }));
    const list = Object.entries(volumes).map(([volume, source]) => ({ name: volume, ...source }));
    await node.create(onePod(name, { ...shell(script), volumeMounts, ...more }, { ...once, volumes: list }));
    const pod = await node.until(name, hasEnded);
    expect(pod.status?.phase, JSON.stringify(pod.status)).toBe('Succeeded');
    return (await node.agent.ok(['logs', name])).trim();
  };
  const volumesOf = (pod: Pod): string => join(node.rootDir, 'pods', pod.metadata?.uid ?? '', 'volumes');

  test('a volume that cannot be taken down holds its own pod alone, until it can be', async () => {
    const volumes = [{ name: 'v', emptyDir: {} }];
    const volumeMounts = [{ name: 'v', mountPath: '/v' }];
    const kept = (name: string): object => onePod(name, { ...sleeps, volumeMounts }, { volumes });
    const fileKeyRef = { volumeName: 'v', path: 'mount/app.env', key: 'K' };
    const image = { image: 'localhost/busybox:1', imagePullPolicy: 'IfNotPresent' };
    const goes = shell('until test -e /v/go; do sleep 0.1; done');
    const initContainers = [{ name: 'waits', ...image, ...goes, volumeMounts }];
    const reads = { ...sleeps, env: [{ name: 'K', valueFrom: { fileKeyRef } }] };
    await node.create(kept('busy'), kept('hung'), kept('free'));
    await node.create(onePod('in-file', reads, { volumes, initContainers }));
    const [busy, hung] = await Promise.all(['busy', 'hung', 'free'].map((name) => node.until(name, isReady)));
    const inFile = await node.until(
      'in-file',
      ({ status }) => status?.initContainerStatuses?.[0]?.state?.running !== undefined,
    );
    const below = (pod: Pod | undefined): string =>
      join(volumesOf(pod ?? {}), 'kubernetes.io~empty-dir/v/mount');
    const [busyMount, hungMount, fileMount] = [busy, hung, inFile].map(below) as [string, string, string];
    const hostMount = join(node.dir, 'silent');
    for (const dir of [busyMount, hungMount, fileMount, hostMount]) mkdirSync(dir);
    execFileSync('mount', ['-t', 'tmpfs', 'x', busyMount]);
    const holder: ChildProcess = spawn('sleep', ['1000'], { cwd: busyMount });
    const servers = [hungMount, fileMount, hostMount].map(spawnSilentFileServer);
    try {
      await Promise.all(servers.map(async ({ stdout }) => stdout && (await events.once(stdout, 'data')))); // they are mounted
      const silent = { hostPath: { path: hostMount, type: 'Directory' } };
      const around = { volumes: [{ name: 'v', hostPath: { path: node.dir } }] };
      await node.create(
        onePod('silent', { ...sleeps, volumeMounts }, { volumes: [{ name: 'v', ...silent }] }),
        onePod('in-part', { ...sleeps, volumeMounts: [{ ...volumeMounts[0], subPath: 'silent' }] }, around),
      );
      writeFileSync(join(fileMount, '../go'), '');
      await node.agent.ok(['delete', 'pod', 'busy', 'hung', 'free', '--wait=false']);
      await node.until('free', (_, type) => type === 'DELETED');
      await node.until('hung', (_, type) => type === 'DELETED'); // nobody has looked into the mount
      expect(readFileSync('/proc/mounts', 'utf8')).not.toContain(hungMount);
      expect(await says('meanwhile', 'echo runs', { v: { emptyDir: {} } })).toBe('runs');
      expect((await node.agent.pod('busy')).metadata?.deletionTimestamp).toBeDefined();
      expect(readFileSync('/proc/mounts', 'utf8')).toContain(busyMount);
      expect(await node.told('silent', 'FailedMount')).toEqual([
        `MountVolume.SetUp failed for volume "v" : Directory "${hostMount}" does not answer`,
      ]);
      for (const name of ['in-part', 'in-file']) {
        const pod = await node.until(name, (one) => waiting(one).reason === 'CreateContainerConfigError');
        expect(waiting(pod).message, name).toMatch(/(silent|app.env)" (does not answer|has to wait: )/);
      }
      await node.agent.ok(['delete', 'pod', 'silent', 'in-part', 'in-file', '--wait=false']);
      for (const name of ['silent', 'in-part']) await node.until(name, (_, type) => type === 'DELETED');
    } finally {
      holder.kill('SIGKILL');
      for (const server of servers) server.kill('SIGKILL');
      execFileSync('umount', ['--lazy', hostMount]); // a look that its server's death ends may just be ending
    }
    for (const name of ['busy', 'in-file']) await node.until(name, (_, type) => type === 'DELETED');
    expect(existsSync(volumesOf(busy ?? {}))).toBe(false);
  });

  test('emptyDir on disk and in memory, with its rights, its group and its size; gone with the pod', async () => {
    const mounts = [
      { name: 'disk', mountPath: '/disk' },
      { name: 'memory', mountPath: '/memory' },
    ];
    const volumes = [
      { name: 'disk', emptyDir: {} },
      { name: 'memory', emptyDir: { medium: 'Memory', sizeLimit: '8Mi' } },
    ];
    await node.create(
      onePod(
        'scratch',
        { ...sleeps, volumeMounts: mounts, resources: { limits: { memory: '32Mi' } } },
        {
          volumes,
          securityContext: { fsGroup: 4321 },
        },
      ),
    );
    const pod = await node.until('scratch', isReady);
    expect(await exec('scratch', 'stat -c "%a %g" /disk /memory; df -k /memory | tail -1')).toMatch(
      /^2777 4321\n3777 4321\ntmpfs +8192 /,
    );
    expect(existsSync(volumesOf(pod))).toBe(true);
    await node.agent.ok(['delete', 'pod', 'scratch', '--wait=false']);
    await node.until('scratch', (_, type) => type === 'DELETED');
    expect(existsSync(volumesOf(pod))).toBe(false);
    expect(readFileSync('/proc/mounts', 'utf8')).not.toContain(pod.metadata?.uid);
  });

  test('whose files are and what may be done with them, by the user and the group of the pod', async () => {
    const volumes = {
      token: {
        projected: { sources: [{ serviceAccountToken: { path: 'file', expirationSeconds: 3600 } }] },
      },
      config: { configMap: { name: 'kube-root-ca.crt', defaultMode: 0o440 } },
      secret: { secret: { secretName: 'owned', defaultMode: 0o440 } },
      memory: { emptyDir: { medium: 'Memory' } },
    };
    await node.create({ apiVersion: 'v1', kind: 'Secret', metadata: { name: 'owned' }, data: { s: '' } });
    const list = Object.entries(volumes).map(([name, source]) => ({ name, ...source }));
    const mounts = list.map(({ name }) => ({ name, mountPath: `/v/${name}` }));
    const volumeMounts = [...mounts, { name: 'memory', mountPath: '/part', subPath: 'made' }];
    const script =
      'cd /v; stat -Lc "%A %u %g" token/file config/ca.crt secret/s memory /part; cut -d" " -f2,3 /proc/mounts | grep -E "^/(v/.*|part) tmpfs$" | sort; for v in token config secret memory; do touch $v/new 2> /dev/null && echo $v is written; done; true';
    const seen = async (name: string, securityContext: object): Promise<string> => {
      await node.create(
        onePod(
          name,
          { ...shell(script.replaceAll('$', '$$$$')), volumeMounts },
          { ...once, volumes: list, securityContext },
        ),
      );
      const pod = await node.until(name, hasEnded);
      expect(pod.status?.phase, JSON.stringify(pod.status)).toBe('Succeeded');
      return (await node.agent.ok(['logs', name])).trim();
    };
    const both = { runAsUser: 1000, fsGroup: 1001 };
    const [ofNobody, ofUser, ofGroup, ofBoth] = await Promise.all([
      seen('owned-by-nobody', {}),
      seen('owned-by-user', { runAsUser: 1000 }),
      seen('owned-by-group', { fsGroup: 1001 }),
      seen('owned-by-both', both),
    ]);
    const inMemory = '/part tmpfs\n/v/memory tmpfs\n/v/secret tmpfs\n/v/token tmpfs';
    const shown = (token: string, group: number, memory: string): string =>
      [
        token,
        ...Array<string>(2).fill(`-r--r----- 0 ${group}`),
        ...[memory, memory, inMemory, 'memory is written'],
      ].join('\n');
    expect(ofNobody).toBe(shown('-rw-r--r-- 0 0', 0, 'drwxrwxrwt 0 0'));
    expect(ofUser).toBe(shown('-rw------- 1000 0', 0, 'drwxrwxrwt 0 0'));
    expect(ofGroup).toBe(shown('-rw-r----- 0 1001', 1001, 'drwxrwsrwt 0 1001'));
    expect(ofBoth).toBe(shown('-rw-r----- 1000 1001', 1001, 'drwxrwsrwt 0 1001'));
  });

  test('an emptyDir that the last word of a container is mounted back into is taken down', async () => {
    const mount = { name: 'v', mountPath: '/v', mountPropagation: 'Bidirectional' };
    const says = { ...shell('echo bye > /v/log'), terminationMessagePath: '/v/log' };
    await node.create(
      onePod(
        'last-word',
        { ...says, volumeMounts: [mount], securityContext: { privileged: true } },
        { ...once, volumes: [{ name: 'v', emptyDir: {} }] },
      ),
    );
    const pod = await node.until('last-word', hasEnded);
    expect(pod.status?.containerStatuses?.[0]?.state?.terminated?.message).toBe('bye\n');
    await node.agent.ok(['delete', 'pod', 'last-word', '--wait=false']);
    await node.until('last-word', (_, type) => type === 'DELETED');
    // the API server lets go of a pod that has ended at once, whoever still clears up after it
    await expect.poll(() => existsSync(volumesOf(pod)), { timeout: 20_000 }).toBe(false);
  });

  test('trust bundles of the cluster, by name and by signer, follow their changes', async () => {
    const anchors = ['a', 'b', 'c'].map((name) => Authority.create(name, Date.now()).cert);
    const [a = '', b = '', c = ''] = anchors;
    const bundle = (name: string, trustBundle: string, signer: object = {}, labels: object = {}): object => ({
      apiVersion: 'certificates.k8s.io/v1beta1',
      kind: 'ClusterTrustBundle',
      metadata: { name, labels },
      spec: { trustBundle, ...signer },
    });
    const signerName = 'example.com/s';
    await node.create(
      bundle('roots', a),
      bundle('example.com:s:1', a + b, { signerName }, { live: 'yes' }),
      bundle('example.com:s:2', b, { signerName }, { live: 'yes' }),
      bundle('example.com:s:3', c, { signerName }, { live: 'no' }),
    );
    const projected = (...sources: readonly object[]): object => ({
      projected: { sources: sources.map((clusterTrustBundle) => ({ clusterTrustBundle })) },
    });
    const all = projected(
      { name: 'roots', path: 'roots' },
      { signerName, labelSelector: { matchLabels: { live: 'yes' } }, path: 'live' },
      { name: 'none', path: 'none', optional: true },
    );
    const volumeMounts = [{ name: 'v', mountPath: '/v' }];
    const missing = projected({ name: 'none', path: 'p' }, { signerName: 'example.com/t', path: 'q' });
    await node.create(
      onePod('trusting', { ...sleeps, volumeMounts }, { volumes: [{ name: 'v', ...all }] }),
      onePod('distrusting', { ...sleeps, volumeMounts }, { volumes: [{ name: 'v', ...missing }] }),
    );
    await node.until('trusting', isReady);
    const text = (file: string): Promise<string> =>
      node.agent.ok(['exec', 'trusting', '--', 'cat', `/v/${file}`]);
    expect(await text('roots')).toBe(a);
    expect([a + b, b + a]).toContain(await text('live'));
    expect(await text('none')).toBe('');
    expect(await node.told('distrusting', 'FailedMount')).toEqual([
      'MountVolume.SetUp failed for volume "v" : [while getting ClusterTrustBundle: clustertrustbundle.certificates.k8s.io "none" not found, combination of signerName and labelSelector matched zero ClusterTrustBundles]',
    ]);
    const patch = JSON.stringify({ spec: { trustBundle: c } });
    await node.agent.ok(['patch', 'clustertrustbundle', 'roots', '--type=merge', '-p', patch]);
    await exec(
      'trusting',
      'until grep -q "$0" /v/roots; do sleep 0.2; done'.replace('$0', c.split('\n')[2] ?? ''),
    );
    expect(await text('roots')).toBe(c);
  });

  test('paths of the host of each type, and what is of another type', async () => {
    const dir = join(node.dir, 'host');
    mkdirSync(dir);
    writeFileSync(join(dir, 'file'), 'content');
    const said = await says(
      'host-paths',
      'cat /v/file; ls -d /v/made/.; echo more >> /v/fresh; test -c /v/null; test -S /v/socket; ls /v/any',
      {
        file: { hostPath: { path: join(dir, 'file'), type: 'File' } },
        made: { hostPath: { path: join(dir, 'made'), type: 'DirectoryOrCreate' } },
        fresh: { hostPath: { path: join(dir, 'fresh'), type: 'FileOrCreate' } },
        null: { hostPath: { path: '/dev/null', type: 'CharDevice' } },
        socket: { hostPath: { path: node.containerd.socket, type: 'Socket' } },
        any: { hostPath: { path: dir } },
      },
    );
    expect(said).toBe('content/v/made/.\nfile\nfresh\nmade');
    expect(readFileSync(join(dir, 'fresh'), 'utf8')).toBe('more\n');
    await node.create(
      onePod(
        'wrong-type',
        { ...sleeps, volumeMounts: [{ name: 'v', mountPath: '/v' }] },
        { volumes: [{ name: 'v', hostPath: { path: join(dir, 'file'), type: 'Directory' } }] },
      ),
    );
    expect(await node.told('wrong-type', 'FailedMount')).toEqual([
      `MountVolume.SetUp failed for volume "v" : hostPath type check failed: ${join(dir, 'file')} is not a directory`,
    ]);
  });

  test('config maps, secrets, fields and all of them projected, with modes, items and what is optional', async () => {
    await node.create(
      {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { name: 'files' },
        data: { a: 'A', b: 'B' },
        binaryData: { raw: 'AAE=' },
      },
      { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'files' }, stringData: { s: 'S' } },
    );
    const fields = {
      items: [
        { path: 'labels', fieldRef: { fieldPath: 'metadata.labels' } },
        { path: 'cpu', resourceFieldRef: { containerName: 'c', resource: 'limits.cpu', divisor: '1m' } },
      ],
    };
    const script =
      'cd /v; cat config/a config/b secret/deep/x fields/cpu all/in/a all/s all/name; stat -Lc %a config/a secret/deep/x all/in/a; wc -c < config/raw; ls none all/token all/ca.crt; id -u; cut -d. -f2 all/token | wc -c; mount | grep " /v/secret " | cut -d" " -f5';
    const said = await says(
      'files',
      script,
      {
        config: { configMap: { name: 'files' } },
        secret: {
          secret: {
            secretName: 'files',
            defaultMode: 0o440,
            items: [{ key: 's', path: 'deep/x', mode: 0o400 }],
          },
        },
        fields: { downwardAPI: fields },
        none: { configMap: { name: 'not-there', optional: true } },
        all: {
          projected: {
            defaultMode: 0o640,
            sources: [
              { configMap: { name: 'files', items: [{ key: 'a', path: 'in/a' }] } },
              { secret: { name: 'files' } },
              { downwardAPI: { items: [{ path: 'name', fieldRef: { fieldPath: 'metadata.name' } }] } },
              { serviceAccountToken: { path: 'token', expirationSeconds: 600, audience: 'me' } },
              { configMap: { name: 'kube-root-ca.crt', items: [{ key: 'ca.crt', path: 'ca.crt' }] } },
            ],
          },
        },
      },
      { resources: { limits: { cpu: '300m' } } },
    );
    const lines = said.split('\n');
    expect(lines[0]).toBe('ABS300ASfiles644');
    expect(lines.slice(1, 4)).toEqual(['400', '640', '2']);
    expect(said).toContain('all/token');
  });

  test('a change of a config map reaches running containers at once and whole; of one that is immutable there is none', async () => {
    await node.create(
      { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'live' }, data: { a: 'one', b: 'one' } },
      {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { name: 'fixed' },
        immutable: true,
        data: { a: 'one' },
      },
    );
    const volumes = [{ name: 'v', configMap: { name: 'live' } }];
    const volumeMounts = [
      { name: 'v', mountPath: '/v' },
      { name: 'v', mountPath: '/single', subPath: 'a' },
    ];
    await node.create(
      onePod(
        'watcher',
        {
          ...shell(
            'last=; while ! test -e /stop; do now=$(cat /v/a /v/b); test "$now" = "$last" || echo "$now"; last=$now; done'.replaceAll(
              '$',
              '$$',
            ),
          ),
          volumeMounts,
        },
        { volumes },
      ),
    );
    await node.until('watcher', isReady);
    await node.agent.ok(['patch', 'configmap', 'live', '-p', '{"data":{"a":"two","b":"two"}}']);
    const seen = node.agent.follow(['logs', '-f', 'watcher']);
    await seen.lines.waitFor((line) => line === 'twotwo', 60_000);
    seen.stop();
    expect(await exec('watcher', 'cat /single')).toBe('one');
    // the container may end before the command that tells it to
    await node.agent.kubectl(['exec', 'watcher', '--', 'touch', '/stop']);
    await node.until(
      'watcher',
      (pod) => isReady(pod) && pod.status?.containerStatuses?.[0]?.restartCount === 1,
    );
    expect(await exec('watcher', 'cat /single')).toBe('two');
    const { code, stderr } = await node.agent.kubectl([
      'patch',
      'configmap',
      'fixed',
      '-p',
      '{"data":{"a":"two"}}',
    ]);
    expect([code, stderr]).toEqual([
      1,
      expect.stringContaining('field is immutable when `immutable` is set'),
    ]);
  });

  test('parts of volumes: by name, by expression, made where missing, and never out of the volume', async () => {
    const outside = join(node.dir, 'outside');
    mkdirSync(outside);
    writeFileSync(join(outside, 'secret'), 'not for pods');
    const volume = [{ name: 'v', hostPath: { path: join(node.dir, 'parts'), type: 'DirectoryOrCreate' } }];
    const part = (subPath: string) => ({ name: 'v', mountPath: '/part', subPath });
    const prepare = `mkdir -p /v/real; echo in > /v/real/file; ln -s real /v/inside; ln -s ${outside} /v/out; ln -s ../outside /v/relative`;
    await node.create(
      onePod(
        'prepares',
        { ...shell(prepare), volumeMounts: [{ name: 'v', mountPath: '/v' }] },
        { ...once, volumes: volume },
      ),
    );
    await node.until('prepares', hasEnded);
    const env = [{ name: 'POD', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } }];
    await node.create(
      onePod(
        'by-name',
        { ...shell('cat /part/file'), volumeMounts: [part('real')] },
        { ...once, volumes: volume },
      ),
      onePod(
        'by-link',
        { ...shell('cat /part/file'), volumeMounts: [part('inside')] },
        { ...once, volumes: volume },
      ),
      onePod(
        'by-expression',
        {
          ...shell('echo hi > /part/x'),
          env,
          volumeMounts: [{ name: 'v', mountPath: '/part', subPathExpr: 'made/$(POD)' }],
        },
        { ...once, volumes: volume },
      ),
      onePod('escapes', { ...sleeps, volumeMounts: [part('out')] }, { volumes: volume }),
      onePod('escapes-too', { ...sleeps, volumeMounts: [part('relative/secret')] }, { volumes: volume }),
    );
    for (const name of ['by-name', 'by-link', 'by-expression'])
      expect((await node.until(name, hasEnded)).status?.phase, name).toBe('Succeeded');
    expect(await node.agent.ok(['logs', 'by-link'])).toBe('in\n');
    expect(readFileSync(join(node.dir, 'parts/made/by-expression/x'), 'utf8')).toBe('hi\n');
    // beside the volumes that do not answer, a look may have to wait first
    const refused = 'failed to prepare subPath for volumeMount "v" of container "c"';
    for (const name of ['escapes', 'escapes-too']) {
      const pod = await node.until(name, (one) => waiting(one).message === refused);
      expect(waiting(pod).reason).toBe('CreateContainerConfigError');
    }
  });

  test('mounts of the host reach a container, and a container’s the host, where asked for', async () => {
    const dir = join(node.dir, 'propagated');
    mkdirSync(join(dir, 'from-host'), { recursive: true });
    mkdirSync(join(dir, 'from-pod'));
    execFileSync('mount', ['--bind', dir, dir]);
    execFileSync('mount', ['--make-shared', dir]);
    try {
      const volumes = [{ name: 'v', hostPath: { path: dir } }];
      const mount = (mountPropagation: string) => ({
        volumeMounts: [{ name: 'v', mountPath: '/v', mountPropagation }],
      });
      const privileged = { securityContext: { privileged: true } };
      await node.create(
        onePod('none', { ...sleeps, ...mount('None') }, { volumes }),
        onePod('to-container', { ...sleeps, ...mount('HostToContainer') }, { volumes }),
        onePod(
          'both',
          {
            ...shell('mount -t tmpfs x /v/from-pod; echo pod > /v/from-pod/x; sleep 1000'),
            ...mount('Bidirectional'),
            ...privileged,
          },
          { volumes },
        ),
      );
      await Promise.all(['none', 'to-container', 'both'].map((name) => node.until(name, isReady)));
      execFileSync('mount', ['-t', 'tmpfs', 'x', join(dir, 'from-host')]);
      writeFileSync(join(dir, 'from-host/x'), 'host');
      expect(await exec('to-container', 'cat /v/from-host/x')).toBe('host');
      expect(await exec('none', 'ls /v/from-host')).toBe('');
      expect(await exec('to-container', 'cat /v/from-pod/x')).toBe('pod');
      expect(readFileSync(join(dir, 'from-pod/x'), 'utf8')).toBe('pod\n');
    } finally {
      for (const path of ['from-host', 'from-pod', '.']) execFileSync('umount', ['-l', join(dir, path)]);
    }
  });

  test('recursive read-only where the runtime can; where it must and cannot, that is told', async () => {
    mkdirSync(join(node.dir, 'read-only'));
    const volumes = [{ name: 'v', hostPath: { path: join(node.dir, 'read-only') } }];
    const mount = (recursiveReadOnly: string) => ({
      volumeMounts: [{ name: 'v', mountPath: '/v', readOnly: true, recursiveReadOnly }],
    });
    const enabled = { ...sleeps, ...mount('Enabled') };
    const ifPossible = { ...shell('touch /v/x; true'), ...mount('IfPossible') };
    await node.create(
      onePod('if-possible', ifPossible, { ...once, volumes }),
      onePod('enabled', enabled, { volumes }),
    );
    await node.until('if-possible', hasEnded);
    expect(await node.agent.ok(['logs', 'if-possible'])).toContain('Read-only file system');
    const able = (
      await node.agent.ok(['get', 'node', 'e2e', '-o', 'jsonpath={.status.runtimeHandlers}'])
    ).includes('"recursiveReadOnlyMounts":true');
    const pod = await node.until(
      'enabled',
      (one) => isReady(one) || waiting(one).reason === 'CreateContainerConfigError',
    );
    expect(isReady(pod)).toBe(able);
    if (!able) expect(waiting(pod).message).toMatch(/recursive read-only .*not supported by the runtime/);
  });

  test('a claim whose volume is a path of this node', async () => {
    mkdirSync(join(node.dir, 'local'));
    const spec = { capacity: { storage: '1Gi' }, accessModes: ['ReadWriteOnce'] };
    const claim = {
      accessModes: ['ReadWriteOnce'],
      resources: { requests: { storage: '1Gi' } },
      storageClassName: '',
    };
    await node.create({
      apiVersion: 'v1',
      kind: 'PersistentVolumeClaim',
      metadata: { name: 'local' },
      spec: { ...claim, volumeName: 'local' },
    });
    const uid = await node.agent.ok(['get', 'pvc', 'local', '-o', 'jsonpath={.metadata.uid}']);
    const claimRef = { kind: 'PersistentVolumeClaim', namespace: 'default', name: 'local', uid };
    await node.create({
      apiVersion: 'v1',
      kind: 'PersistentVolume',
      metadata: { name: 'local' },
      spec: { ...spec, claimRef, hostPath: { path: join(node.dir, 'local') } },
    });
    await node.agent.ok([
      'patch',
      'pvc',
      'local',
      '--subresource=status',
      '--type=merge',
      '-p',
      '{"status":{"phase":"Bound"}}',
    ]);
    await says('claims', 'echo kept > /v/data/x', {
      data: { persistentVolumeClaim: { claimName: 'local' } },
    });
    expect(readFileSync(join(node.dir, 'local/x'), 'utf8')).toBe('kept\n');
  });

  test('a local volume goes to the pod’s group: all of it, or only where its top differs', async () => {
    const objects = ['OnRootMismatch', 'Always'].flatMap((policy) => {
      const name = policy.toLowerCase();
      const path = join(node.dir, name);
      mkdirSync(path);
      writeFileSync(join(path, 'old'), '', { mode: 0o600 });
      chownSync(path, 0, 5555);
      chmodSync(path, 0o2770);
      const spec = {
        accessModes: ['ReadWriteOnce'],
        storageClassName: 'local',
        volumeName: name,
        resources: { requests: { storage: '1Gi' } },
      };
      return [{ apiVersion: 'v1', kind: 'PersistentVolumeClaim', metadata: { name }, spec }];
    });
    await node.create(...objects);
    const inGroup = (policy: string): object => ({ fsGroup: 5555, fsGroupChangePolicy: policy });
    for (const policy of ['OnRootMismatch', 'Always']) {
      const name = policy.toLowerCase();
      const uid = await node.agent.ok(['get', 'pvc', name, '-o', 'jsonpath={.metadata.uid}']);
      const terms = [{ matchExpressions: [{ key: 'kubernetes.io/hostname', operator: 'Exists' }] }];
      await node.create({
        apiVersion: 'v1',
        kind: 'PersistentVolume',
        metadata: { name, annotations: { 'pv.beta.kubernetes.io/gid': '6666' } },
        spec: {
          capacity: { storage: '1Gi' },
          accessModes: ['ReadWriteOnce'],
          storageClassName: 'local',
          claimRef: { kind: 'PersistentVolumeClaim', namespace: 'default', name, uid },
          local: { path: join(node.dir, name) },
          nodeAffinity: { required: { nodeSelectorTerms: terms } },
        },
      });
      const bound = ['--type=merge', '-p', '{"status":{"phase":"Bound"}}'];
      await node.agent.ok(['patch', 'pvc', name, '--subresource=status', ...bound]);
      const volumes = [{ name: 'data', persistentVolumeClaim: { claimName: name } }];
      const volumeMounts = [{ name: 'data', mountPath: '/data' }];
      await node.create(
        onePod(
          `group-${name}`,
          { ...shell('touch /data/new; id -G'), volumeMounts },
          { ...once, volumes, securityContext: inGroup(policy) },
        ),
      );
    }
    const groups = async (policy: string): Promise<object> => {
      const name = policy.toLowerCase();
      const pod = await node.until(`group-${name}`, hasEnded);
      expect(pod.status?.phase, JSON.stringify(pod.status)).toBe('Succeeded');
      const [old, made] = ['old', 'new'].map((file) => statSync(join(node.dir, name, file)));
      const said = (await node.agent.ok(['logs', `group-${name}`])).trim().split(' ');
      return { old: [old?.gid, (old?.mode ?? 0) & 0o777], made: made?.gid, inBoth: said.slice(-2) };
    };
    const inBoth = ['5555', '6666'];
    expect(await groups('OnRootMismatch')).toEqual({ old: [0, 0o600], made: 5555, inBoth });
    expect(await groups('Always')).toEqual({ old: [5555, 0o660], made: 5555, inBoth });
  });

  test('a local volume that is a device is given as one', async () => {
    writeFileSync(join(node.dir, 'device'), Buffer.alloc(1 << 20));
    const device = execFileSync('losetup', ['-f', '--show', join(node.dir, 'device')], {
      encoding: 'utf8',
    }).trim();
    try {
      const common = { accessModes: ['ReadWriteOnce'], storageClassName: 'local', volumeMode: 'Block' };
      const requests = { storage: '1Mi' };
      const metadata = { name: 'device' };
      await node.create({
        ...{ apiVersion: 'v1', kind: 'PersistentVolumeClaim', metadata },
        spec: { ...common, volumeName: 'device', resources: { requests } },
      });
      const uid = await node.agent.ok(['get', 'pvc', 'device', '-o', 'jsonpath={.metadata.uid}']);
      const terms = [{ matchExpressions: [{ key: 'kubernetes.io/hostname', operator: 'Exists' }] }];
      await node.create({
        ...{ apiVersion: 'v1', kind: 'PersistentVolume', metadata },
        spec: {
          ...common,
          capacity: requests,
          claimRef: { kind: 'PersistentVolumeClaim', namespace: 'default', name: 'device', uid },
          local: { path: device },
          nodeAffinity: { required: { nodeSelectorTerms: terms } },
        },
      });
      const bound = ['--type=merge', '-p', '{"status":{"phase":"Bound"}}'];
      await node.agent.ok(['patch', 'pvc', 'device', '--subresource=status', ...bound]);
      const volumes = [{ name: 'disk', persistentVolumeClaim: { claimName: 'device' } }];
      const writes = shell(
        'test -b /dev/disk && echo kept | dd of=/dev/disk conv=fsync && head -c 4 /dev/disk',
      );
      const volumeDevices = [{ name: 'disk', devicePath: '/dev/disk' }];
      const volumeMounts = [{ name: 'disk', mountPath: '/disk' }];
      await node.create(
        onePod('has-device', { ...writes, volumeDevices }, { ...once, volumes }),
        onePod('mounts-device', { ...sleeps, volumeMounts }, { volumes }),
      );
      expect((await node.until('has-device', hasEnded)).status?.phase).toBe('Succeeded');
      expect(await node.agent.ok(['logs', 'has-device'])).toContain('kept');
      expect((await node.told('mounts-device', 'FailedMount'))[0]).toMatch(
        /volume disk has volumeMode Block, but is specified in volumeMounts$/,
      );
    } finally {
      execFileSync('losetup', ['-d', device]);
    }
  });

  test('the files of an image are a volume where the runtime can; elsewhere the container is not made', async () => {
    const mount = { name: 'files', mountPath: '/files', readOnly: true };
    const image = { reference: 'localhost/busybox:1', pullPolicy: 'IfNotPresent' };
    await node.create(
      onePod(
        'of-image',
        { ...shell('cat /files/etc/group; touch /files/x 2>&1; true'), volumeMounts: [mount] },
        { ...once, volumes: [{ name: 'files', image }] },
      ),
      onePod(
        'of-no-image',
        { ...sleeps, volumeMounts: [mount] },
        { volumes: [{ name: 'files', image: { reference: 'localhost/none:1', pullPolicy: 'Never' } }] },
      ),
    );
    const never = await node.until('of-no-image', (one) => waiting(one).reason === 'ErrImageNeverPull');
    expect(waiting(never).message).toContain('localhost/none:1');
    const pod = await node.until('of-image', (one) => hasEnded(one) || waiting(one).message !== '');
    const runtime = await node.agent.ok([
      'get',
      'node',
      'e2e',
      '-o',
      'jsonpath={.status.nodeInfo.containerRuntimeVersion}',
    ]);
    if (runtime.startsWith('containerd://1.')) expect(waiting(pod).reason).toBe('CreateContainerError');
    else
      expect(await node.agent.ok(['logs', 'of-image'])).toMatch(/^root:x:0:\n[^]*Read-only file system\n$/);
  });

  test('a CSI volume is refused by name', async () => {
    await node.create(
      onePod(
        'csi',
        { ...sleeps, volumeMounts: [{ name: 'v', mountPath: '/v' }] },
        { volumes: [{ name: 'v', csi: { driver: 'csi.example.org' } }] },
      ),
    );
    const { status } = await node.until('csi', hasEnded);
    expect(status).toMatchObject({
      phase: 'Failed',
      reason: 'UnsupportedVolume',
      message:
        'Pod was rejected: volume "v" needs the CSI driver "csi.example.org"; CSI volumes are not supported on this node.',
    });
  });

  test('a runtime class picks the handler; one that the runtime does not have is told', async () => {
    await node.create(
      { apiVersion: 'node.k8s.io/v1', kind: 'RuntimeClass', metadata: { name: 'plain' }, handler: 'runc' },
      { apiVersion: 'node.k8s.io/v1', kind: 'RuntimeClass', metadata: { name: 'odd' }, handler: 'none-such' },
    );
    await node.create(
      onePod('classed', sleeps, { runtimeClassName: 'plain' }),
      onePod('odd-class', sleeps, { runtimeClassName: 'odd' }),
    );
    await node.until('classed', isReady);
    expect((await node.told('odd-class', 'FailedCreatePodSandBox'))[0]).toMatch(
      /^Failed to create pod sandbox: .*none-such/,
    );
  });
});

/** Mounts a file system whose server never answers: whoever looks into it waits until that process ends. */
const spawnSilentFileServer = (dir: string): ChildProcess =>
  spawn('/bin/sh', [
    '-c',
    'exec 3<>/dev/fuse; mount -i -t fuse -o fd=3,rootmode=40000,user_id=0,group_id=0 silent "$1"; echo; exec sleep 1000',
    'sh',
    dir,
  ]);
