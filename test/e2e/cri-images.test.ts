import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { busyboxImage, type TestImage } from '../support/images.ts';
import { type Registry, startRegistry } from '../support/registry.ts';
import { CriNode, noCriNode, onePod, waiting } from './cri-node.ts';
import { condition, freePort, makeDir } from './podtender.ts';

const users = 'puller:pass';
const base64 = (text: string): string => Buffer.from(text).toString('base64');

/** Every kind of pull there is, with real registries, containerd, kubectl and the command as a user has it. */
describe.skipIf(noCriNode !== undefined)('images', { timeout: 90_000, concurrent: true }, () => {
  const dir = makeDir('pt-plugins-');
  let node: CriNode;
  let closed: Registry;
  let open: Registry;
  let away = 0;

  beforeAll(async () => {
    const [closedPort, openPort] = [await freePort(), await freePort()];
    away = await freePort();
    // each its own content, for the records of pulls go by that
    const image = (port: number, name: string): TestImage =>
      busyboxImage(`localhost:${port}/${name}:1`, {
        Cmd: ['/bin/sleep', '1000'],
        Env: ['PATH=/bin', `IMAGE=${name}`],
      });
    const secret = [
      'json',
      'legacy',
      'account',
      'team/of-node',
      'plugin',
      'wrong',
      'none',
      'shared',
      'token',
    ];
    closed = await startRegistry(
      secret.map((name) => image(closedPort, name)),
      { port: closedPort, basicAuth: users },
    );
    const free = ['ok', 'slow-1', 'slow-2', 'slow-3', 'broken', 'cut', 'digest', 'missing-tag'];
    open = await startRegistry(
      free.map((name) => image(openPort, name)),
      { port: openPort },
    );
    open.faults.push(
      { path: '/broken/manifests/', status: 500 },
      { path: '/cut/blobs/', cut: true },
      { path: '/slow', delayMs: 300, together: 2 },
    );
    node = await CriNode.start({
      // no limit of pulls a second: all these tests pull at once
      config: { serializeImagePulls: false, maxParallelImagePulls: 2, registryPullQPS: 0 },
      args: [
        `--image-credential-provider-config=${join(dir.path, 'config.yaml')}`,
        `--image-credential-provider-bin-dir=${join(dir.path, 'bin')}`,
      ],
      prepare: (rootDir) => {
        writePlugins(dir.path, closed.host);
        const auths = { [`${closed.host}/team`]: { auth: base64(users) } };
        writeFileSync(join(rootDir, 'config.json'), JSON.stringify({ auths }));
      },
    });
    await node.create(
      pullSecret('json', 'kubernetes.io/dockerconfigjson', {
        auths: { [closed.host]: { auth: base64(users) } },
      }),
      pullSecret('legacy', 'kubernetes.io/dockercfg', {
        [`http://${closed.host}`]: { username: 'puller', password: 'pass' },
      }),
      pullSecret('wrong', 'kubernetes.io/dockerconfigjson', {
        auths: { [closed.host]: { username: 'puller', password: 'no' } },
      }),
      pullSecret('broken', 'kubernetes.io/dockerconfigjson', {
        auths: { [closed.host]: { auth: base64('no colon') } },
      }),
      {
        apiVersion: 'v1',
        kind: 'ServiceAccount',
        metadata: { name: 'puller' },
        imagePullSecrets: [{ name: 'json' }],
      },
    );
  }, 90_000);

  afterAll(async () => {
    await node.stop();
    await Promise.all([closed.close(), open.close()]);
    dir.remove();
  }, 60_000);

  const from = (registry: Registry, name: string, tag = ':1'): object => ({
    image: `${registry.host}/${name}${tag}`,
  });
  const withSecret = (...names: readonly string[]): object => ({
    imagePullSecrets: names.map((name) => ({ name })),
  });
  const runs = (name: string): Promise<unknown> =>
    node.until(name, (pod) => condition(pod, 'Ready') === 'True');
  const waits = async (name: string, reason: string) =>
    waiting(await node.until(name, (pod) => waiting(pod).reason === reason));

  test('are pulled with secrets of both types, the account’s, the node’s own, and those of plug-ins', async () => {
    const account = { serviceAccountName: 'puller' };
    const audience = { serviceAccountToken: { audience: 'registry', path: 'token' } };
    const tokenVolume = [{ name: 't', projected: { sources: [audience] } }];
    await node.create(
      onePod('json', from(closed, 'json'), withSecret('json')),
      onePod('legacy', from(closed, 'legacy'), withSecret('legacy')),
      onePod('account', from(closed, 'account'), account),
      onePod('of-node', from(closed, 'team/of-node')),
      onePod('plugin', from(closed, 'plugin')),
      onePod('token', from(closed, 'token'), {
        ...account,
        imagePullSecrets: [{ name: 'wrong' }],
        volumes: tokenVolume,
      }),
    );
    for (const name of ['json', 'legacy', 'account', 'of-node', 'plugin', 'token']) await runs(name);
    expect((await node.told('json', 'Pulled'))[0]).toMatch(
      new RegExp(
        `^Successfully pulled image "${closed.host}/json:1" in .*s \\(.*s including waiting\\)\\. Image size: \\d+ bytes\\.$`,
      ),
    );
    // and the plug-ins were asked with the image alone, or with the account’s token
    const asked = (name: string): Record<string, unknown> =>
      JSON.parse(readFileSync(join(dir.path, `${name}.request`), 'utf8')) as Record<string, unknown>;
    const apiVersion = 'credentialprovider.kubelet.k8s.io/v1';
    const kind = 'CredentialProviderRequest';
    expect(asked('plain')).toEqual({ kind, apiVersion, image: `${closed.host}/plugin` });
    const { serviceAccountToken, ...rest } = asked('tokens');
    expect(rest).toEqual({ kind, apiVersion, image: `${closed.host}/token` });
    const [, claims = ''] = String(serviceAccountToken).split('.');
    expect(JSON.parse(Buffer.from(claims, 'base64url').toString())).toMatchObject({
      aud: ['registry'],
      sub: 'system:serviceaccount:default:puller',
      'kubernetes.io': { pod: { name: 'token' } },
    });
  });

  test('with wrong credentials or none they are refused, and then wait in back-off', async () => {
    await node.create(
      onePod('wrong', from(closed, 'wrong'), withSecret('wrong')),
      onePod('none', from(closed, 'none'), withSecret('not-there')),
      onePod('broken-secret', from(closed, 'none'), withSecret('broken')),
    );
    for (const name of ['wrong', 'none']) {
      const image = `${closed.host}/${name}:1`;
      const failed = await waits(name, 'ErrImagePull');
      expect(failed.message).toMatch(/(authorization failed|401 Unauthorized|pull access denied)/);
      expect(await waits(name, 'ImagePullBackOff')).toEqual({
        reason: 'ImagePullBackOff',
        message: `Back-off pulling image "${image}": ErrImagePull: ${failed.message}`,
      });
      expect(await node.told(name, 'BackOff')).toEqual([`Back-off pulling image "${image}"`]);
      expect(await node.told(name, 'Failed')).toEqual(
        expect.arrayContaining([`Failed to pull image "${image}": ${failed.message}`, 'Error: ErrImagePull']),
      );
    }
    expect(await node.told('none', 'FailedToRetrieveImagePullSecret')).toEqual([
      'Unable to retrieve some image pull secrets (not-there); attempting to pull the image may not succeed.',
    ]);
    const fault = 'unable to parse auth field, must be formatted as base64(username:password)';
    expect(await waits('broken-secret', fault)).toEqual({ reason: fault, message: fault });
  });

  test('fail in each way that a registry has, and come as soon as it is mended', async () => {
    await node.create(
      onePod('missing', from(open, 'never-was')),
      onePod('missing-tag', from(open, 'missing-tag', ':2')),
      onePod('broken', from(open, 'broken')),
      onePod('cut', from(open, 'cut')),
      onePod('away', { image: `localhost:${away}/x:1` }),
      onePod('bad-name', { image: 'Bad_Name' }),
      onePod('never', { ...from(open, 'ok'), imagePullPolicy: 'Never' }),
    );
    const messages = {
      missing: /never-was:1": .*not found/,
      'missing-tag': /missing-tag:2": .*not found/,
      broken: /500 Internal Server Error/,
      cut: /(unexpected EOF|connection reset|failed to copy)/,
      away: /connection refused/,
    };
    for (const [name, message] of Object.entries(messages))
      expect((await waits(name, 'ErrImagePull')).message).toMatch(message);
    expect((await waits('bad-name', 'InvalidImageName')).message).toBe(
      'Failed to apply default image tag "Bad_Name": couldn\'t parse image name "Bad_Name": invalid reference format: repository name (library/Bad_Name) must be lowercase',
    );
    expect(await waits('never', 'ErrImageNeverPull')).toEqual({
      reason: 'ErrImageNeverPull',
      message: `Container image "${open.host}/ok:1" is not present with pull policy of Never`,
    });
    open.faults.splice(0, open.faults.length, ...open.faults.filter(({ path }) => path === '/slow'));
    await Promise.all(['broken', 'cut'].map(runs)); // the next attempt is 10 s after the first
  });

  test('that are slow come at most two at a time', async () => {
    await node.create(...[1, 2, 3].map((number) => onePod(`slow-${number}`, from(open, `slow-${number}`))));
    await Promise.all([1, 2, 3].map((number) => runs(`slow-${number}`)));
    expect(open.mostHeld()).toBe(2);
  });

  test('come by digest', async () => {
    const { manifestDigest } = busyboxImage(`localhost:${open.port}/digest:1`, {
      Cmd: ['/bin/sleep', '1000'],
      Env: ['PATH=/bin', 'IMAGE=digest'],
    });
    await node.create(onePod('digest', from(open, 'digest', `@${manifestDigest}`)));
    await runs('digest');
    const { status } = await node.agent.pod('digest');
    expect(status?.containerStatuses?.[0]?.imageID).toContain(manifestDigest);
  });

  test('that are there are only for pods that could have pulled them', async () => {
    const image = { ...from(closed, 'shared'), imagePullPolicy: 'IfNotPresent' };
    await node.create(onePod('first', image, withSecret('json')));
    await runs('first');
    await node.create(
      onePod('second', image, withSecret('json')),
      onePod('stranger', image),
      onePod('stranger-never', { ...image, imagePullPolicy: 'Never' }),
    );
    await runs('second');
    expect(await node.told('second', 'Pulled')).toEqual([
      `Container image "${closed.host}/shared:1" already present on machine and can be accessed by the pod`,
    ]);
    expect((await waits('stranger', 'ErrImagePull')).message).toMatch(/authorization failed|401|denied/);
    await waits('stranger-never', 'ErrImageNeverPull');
  });
});

function pullSecret(name: string, type: string, content: object): object {
  const key = type.endsWith('json') ? '.dockerconfigjson' : '.dockercfg';
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name },
    type,
    data: { [key]: base64(JSON.stringify(content)) },
  };
}

/** Two plug-ins: one for an image, one that takes tokens. */
function writePlugins(dir: string, host: string): void {
  mkdirSync(join(dir, 'bin'));
  const [username, password] = users.split(':');
  const apiVersion = 'credentialprovider.kubelet.k8s.io/v1';
  const response = {
    kind: 'CredentialProviderResponse',
    apiVersion,
    cacheKeyType: 'Image',
    cacheDuration: '0s',
    auth: { [host]: { username, password } },
  };
  for (const name of ['plain', 'tokens']) {
    const path = join(dir, 'bin', name);
    writeFileSync(path, `#!/bin/sh\ncat > ${dir}/${name}.request\necho '${JSON.stringify(response)}'\n`);
    chmodSync(path, 0o755);
  }
  const plain = { name: 'plain', matchImages: [`${host}/plugin`], defaultCacheDuration: '1m', apiVersion };
  const tokens = {
    ...plain,
    name: 'tokens',
    matchImages: [`${host}/token`],
    tokenAttributes: {
      serviceAccountTokenAudience: 'registry',
      cacheType: 'Token',
      requireServiceAccount: true,
    },
  };
  const config = {
    apiVersion: 'kubelet.config.k8s.io/v1',
    kind: 'CredentialProviderConfig',
    providers: [plain, tokens],
  };
  writeFileSync(join(dir, 'config.yaml'), JSON.stringify(config));
}
