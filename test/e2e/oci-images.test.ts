import { spawnSync } from 'node:child_process';
import { globSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Pod } from '../../src/kube/types.ts';
import { soon } from '../support/found.ts';
import { busyboxImage, type TestImage } from '../support/images.ts';
import { type Registry, startRegistry } from '../support/registry.ts';
import { onePod, sleeps, waiting } from './cri-node.ts';
import { noKubectl } from './kubectl.ts';
import { condition, freePort, makeDir, Podtender, type PodWatch, program } from './podtender.ts';

const users = 'puller:pass';
/** Each with its own content. */
const imageOf = (port: number, name: string): TestImage =>
  busyboxImage(`localhost:${port}/${name}:1`, { Cmd: ['/bin/sh'], Env: ['PATH=/bin', `IMAGE=${name}`] });

describe.skipIf(noKubectl !== undefined)('images of the OCI provider', { timeout: 120_000 }, () => {
  const dir = makeDir('pt-oci-images-');
  const dataDir = join(dir.path, 'data');
  let agent: Podtender;
  let watch: PodWatch;
  let port = 0;
  let registry: Registry;
  let closed: Registry;

  const names = ['listed', 'tagged', 'kept', 'unused', 'cut', 'slow', 'digest'];
  const open = (): Promise<Registry> =>
    startRegistry(
      names.map((name) => imageOf(port, name)),
      { port },
    );
  const ref = (name: string): string => `localhost:${port}/${name}:1`;

  async function startAgent(): Promise<void> {
    const { manifestDigest } = imageOf(port, 'listed');
    agent = await Podtender.up({
      dataDir,
      manifests: join(dir.path, 'manifests'),
      args: [
        ...['--provider=oci', '--log-level=warn', '--registry-qps=0'],
        `--middleware=imageAllowList=${JSON.stringify({ digests: [manifestDigest], selector: { matchLabels: { strict: 'yes' } } })}`,
        `--middleware=podCertificates=${JSON.stringify({ selector: { matchLabels: { certified: 'yes' } } })}`,
      ],
    });
    watch = agent.watchPods();
    await agent.ok(['wait', '--for=create', 'node/e2e', '--timeout=30s']);
    await agent.nodeAnswers();
  }

  beforeAll(async () => {
    port = await freePort();
    const closedPort = await freePort();
    closed = await startRegistry([imageOf(closedPort, 'secret')], { port: closedPort, basicAuth: users });
    registry = await open();
    await startAgent();
  }, 90_000);
  afterAll(async () => {
    await agent.ok(['delete', 'pods', '--all', '--timeout=30s']).catch(() => undefined);
    await agent.end();
    await Promise.all([registry.close(), closed.close()]);
    dir.remove();
  }, 60_000);

  const create = (...pods: readonly object[]): Promise<string> =>
    agent.ok(['create', '-f', '-'], pods.map((pod) => `---\n${JSON.stringify(pod)}\n`).join(''));
  const pod = (name: string, image: string, metadata: object = {}): object =>
    onePod(name, { image, ...sleeps }, { automountServiceAccountToken: false }, metadata);
  const runs = (name: string): Promise<Pod> =>
    watch.until(name, (one) => condition(one, 'Ready') === 'True', 60_000);
  const waits = async (name: string, reason: string) =>
    waiting(await watch.until(name, (one) => waiting(one).reason === reason, 60_000));
  const image = (...words: readonly string[]) =>
    spawnSync(process.execPath, [program, 'image', ...words, '--data-dir', dataDir], { encoding: 'utf8' });

  test('that cannot be pulled wait with reason and message, and come when the registry is back', async () => {
    await registry.close();
    await create(
      pod('away', ref('tagged')),
      pod('secret', `${closed.host}/secret:1`),
      pod('missing', `${closed.host}/secret:2`),
    );
    // the kubelet's own reason for a registry that does not answer
    const { message } = await waits('away', 'RegistryUnavailable');
    expect(message).toContain(`http://localhost:${port}: connect ECONNREFUSED`);
    const backOff = await waits('away', 'ImagePullBackOff');
    expect(backOff.message).toContain(`Back-off pulling image "${ref('tagged')}": RegistryUnavailable: `);
    expect(backOff.message).toContain('ECONNREFUSED');
    expect((await waits('secret', 'ErrImagePull')).message).toContain(
      'the registry wants credentials, there are none',
    );
    expect(await agent.ok(['get', 'pods', 'away', '--no-headers'])).toMatch(/ImagePullBackOff/);
    expect(await agent.ok(['describe', 'pod', 'away'])).toMatch(/Failed to pull image .*ECONNREFUSED/);
    registry = await open();
    await runs('away');
  });

  test('are pulled with a secret of the pod', async () => {
    const auths = { [closed.host]: { auth: Buffer.from(users).toString('base64') } };
    const secret = {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'puller' },
      type: 'kubernetes.io/dockerconfigjson',
      stringData: { '.dockerconfigjson': JSON.stringify({ auths }) },
    };
    const spec = { automountServiceAccountToken: false, imagePullSecrets: [{ name: 'puller' }] };
    await create(secret, onePod('known', { image: `${closed.host}/secret:1`, ...sleeps }, spec));
    await runs('known');
    await agent.ok(['delete', 'pod', 'known', 'secret', 'missing', '--ignore-not-found', '--timeout=60s']);
  });

  test('whose content is not that of their digest never run, and are pulled anew later', async () => {
    const content = Buffer.alloc(4000, 'x');
    const { configDigest } = imageOf(port, 'digest');
    registry.faults.push({ path: configDigest, content });
    await create(pod('wrong', ref('digest')));
    expect((await waits('wrong', 'ErrImagePull')).message).toMatch(
      /blob sha256:.* has more than its \d+ bytes/,
    );
    registry.faults.length = 0;
    await runs('wrong');
  });

  test('are continued where an agent was killed', async () => {
    // other images have the layer already
    for (const name of ['away', 'wrong']) await agent.ok(['delete', 'pod', name, '--timeout=30s']);
    expect(image('gc', '--unused').status).toBe(0);
    registry.faults.push({ path: '/cut/blobs/', holdAfter: 700_000, times: 3 });
    await create(pod('cut', ref('cut')));
    const partials = (): number =>
      Math.max(
        0,
        ...globSync(join(dataDir, 'oci/images/partial/sha256-*')).map((path) => statSync(path).size),
      );
    await soon('a part of the layer is there', () => partials() >= 600_000, { withinMs: 30_000 });
    agent.signal('SIGKILL');
    await agent.ended;
    registry.faults.length = 0;
    registry.ranges.length = 0;
    await startAgent();
    await runs('cut');
    expect(
      registry.ranges.map((range) => Number(/^bytes=(\d+)-$/.exec(range)?.[1]))[0],
    ).toBeGreaterThanOrEqual(600_000);
  });

  test('that containers use stay, others are collected while pods run', async () => {
    await create(pod('kept', ref('kept')), pod('unused', ref('unused')));
    await Promise.all([runs('kept'), runs('unused')]);
    const refused = image('rm', ref('kept'));
    expect(refused.stderr).toContain(`image ${ref('kept')} is in use by a container`);
    expect(refused.status).not.toBe(0);
    await agent.ok(['delete', 'pod', 'unused', '--timeout=30s']);
    const { stdout } = image('gc', '--unused');
    expect(stdout).toContain(`removed ${ref('unused')}\n`);
    expect(stdout).not.toContain(ref('kept'));
    // what is there is enough for another instance
    await registry.close();
    await agent.kubectl(['exec', 'kept', '--', 'kill', '1']); // the command ends with the container
    await watch.until('kept', (one) => one.status?.containerStatuses?.[0]?.restartCount === 1, 60_000);
    registry = await open();
  });

  test('run under a list of digests and with certificates of their own', async () => {
    const { manifestDigest } = imageOf(port, 'listed');
    const strict = { labels: { strict: 'yes', certified: 'yes' } };
    await create(
      pod('listed', `localhost:${port}/listed@${manifestDigest}`, strict),
      pod('tagged', ref('listed'), strict),
    );
    const refused = await watch.until('tagged', ({ status }) => status?.phase === 'Failed', 60_000);
    expect(refused.status).toMatchObject({
      reason: 'ImageNotAllowed',
      message: `Pod was rejected: image "${ref('listed')}" of container "c" is not allowed on this node`,
    });
    await runs('listed');
    const where = '/var/run/podtender/certificates';
    const files = ['exec', 'listed', '--', 'cat', `${where}/tls.crt`, `${where}/ca.crt`];
    expect((await agent.ok(files)).match(/BEGIN CERTIFICATE/g)).toHaveLength(2);
  });
});
