import { mkdir, mkdtemp, readFile, rename, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createApiClient, type HttpApiClient } from '../../../src/api/rest/http-client.ts';
import { connectionFromKubeconfig } from '../../../src/api/kubeconfig/kube-client.ts';
import { inClusterConnection } from '../../../src/api/kubeconfig/plain-kubeconfig.ts';
import type { Resource } from '../../../src/api/resources.ts';
import { EmbeddedApiServer } from '../../../src/apiserver/index.ts';
import { Authority, hour } from '../../../src/pki/certificates.ts';
import { FakeClock } from '../../../src/base/fake-clock.ts';
import type { KubeObject } from '../../../src/kube/types.ts';

let dir: string;
let clock: FakeClock;

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'credentials-'));
  clock = new FakeClock(Date.now());
});
afterEach(async () => {
  await rm(dir, { recursive: true });
});

/** An OpenID provider: discovery and a token endpoint. Each refresh token is good once. */
class Provider {
  readonly authority: Authority = Authority.create('the-provider', Date.now());
  readonly requests: { readonly authorization: string | undefined; readonly form: URLSearchParams }[] = [];
  methods: readonly string[] | undefined;
  good = 'refresh-0';
  given = 0;
  readonly #server: Server;

  constructor() {
    const pair = this.authority.issue({
      subject: { commonName: 'provider' },
      notBefore: Date.now() - hour,
      notAfter: Date.now() + hour,
      usages: ['server auth'],
      hosts: ['127.0.0.1'],
    });
    this.#server = createServer(pair, (request, response) => {
      const answer = (status: number, body: object): void => {
        response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
      };
      if (request.url === '/realm/.well-known/openid-configuration') {
        const methods = this.methods && { token_endpoint_auth_methods_supported: this.methods };
        answer(200, { issuer: this.issuer, token_endpoint: `${this.issuer}/token`, ...methods });
      } else if (request.url === '/realm/token')
        void text(request).then((body) => {
          const form = new URLSearchParams(body);
          this.requests.push({ authorization: request.headers.authorization, form });
          if (form.get('refresh_token') !== this.good)
            answer(400, { error: 'invalid_grant', error_description: 'used before' });
          else {
            this.good = `refresh-${++this.given}`;
            const token = this.idToken(clock.now() + hour);
            answer(200, {
              id_token: token,
              refresh_token: this.good,
              access_token: 'x',
              token_type: 'Bearer',
            });
          }
        });
      else answer(404, {});
    });
  }

  get issuer(): string {
    return `https://127.0.0.1:${(this.#server.address() as AddressInfo).port}/realm`;
  }

  idToken(expiresAt: number): string {
    const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
    return `${part({ alg: 'none' })}.${part({ exp: Math.floor(expiresAt / 1000), n: this.given })}.sig`;
  }

  listen(): Promise<void> {
    return new Promise((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
  }

  close(): Promise<unknown> {
    this.#server.closeAllConnections();
    return new Promise((resolve) => this.#server.close(resolve));
  }
}

describe('OpenID Connect', () => {
  let provider: Provider;

  beforeEach(async () => {
    provider = new Provider();
    await provider.listen();
  });
  afterEach(() => provider.close());

  const path = (): string => join(dir, 'config');

  async function kubeconfig(config: Readonly<Record<string, string>>): Promise<void> {
    await writeFile(join(dir, 'idp.crt'), provider.authority.cert);
    const lines = Object.entries(config).map(([name, value]) => `          ${name}: ${value}`);
    await writeFile(
      path(),
      [
        'apiVersion: v1',
        'kind: Config # of a person',
        'current-context: here',
        'contexts: [{ name: here, context: { cluster: c, user: somebody } }]',
        "clusters: [{ name: c, cluster: { server: 'https://127.0.0.1:1' } }]",
        'users:',
        '  - name: somebody',
        '    user:',
        '      auth-provider:',
        '        name: oidc',
        '        config:',
        ...lines,
        '',
      ].join('\n'),
      { mode: 0o600 },
    );
  }

  const config = (more: Readonly<Record<string, string>> = {}): Readonly<Record<string, string>> => ({
    'client-id': 'kubernetes',
    'idp-issuer-url': provider.issuer,
    'idp-certificate-authority': 'idp.crt',
    'id-token': provider.idToken(clock.now() + hour),
    'refresh-token': 'refresh-0',
    ...more,
  });

  async function credentials() {
    const { credentials: source } = await connectionFromKubeconfig(clock, path());
    if (!source) throw new Error('no credentials');
    return {
      source,
      token: async () => (await source.current()).headers['authorization']?.replace('Bearer ', ''),
    };
  }

  test('the ID token is used until it is about to expire, then another is asked for, and both tokens are kept', async () => {
    await kubeconfig(config());
    const first = config()['id-token'];
    const { token } = await credentials();
    await clock.advance(hour - 11_000);
    expect(await token()).toBe(first);
    expect(provider.requests).toHaveLength(0);
    await clock.advance(2000);
    const [second, same] = await Promise.all([token(), token()]);
    expect([same, provider.requests.length]).toEqual([second, 1]);
    expect(second).not.toBe(first);
    await clock.advance(hour);
    expect(await token()).not.toBe(second); // the first refresh token would be refused
    const written = await readFile(path(), 'utf8');
    expect(written).toContain('refresh-token: refresh-2');
    expect(written).toContain('kind: Config # of a person');
    expect((await stat(path())).mode & 0o777).toBe(0o600);
    await clock.advance(hour);
    expect(await (await credentials()).token()).toBeDefined(); // a restart has what it needs
    expect(provider.given).toBe(3);
  });

  test('a token that the API server refuses is replaced though it has not expired', async () => {
    await kubeconfig(config());
    const { source, token } = await credentials();
    const first = await token();
    source.invalidate();
    expect(await token()).not.toBe(first);
    expect(provider.requests).toHaveLength(1);
  });

  test.for([
    ['no secret: by name', {}, undefined, undefined, ['kubernetes', null]],
    ['a secret: in the header', { 'client-secret': 's/e' }, undefined, 'kubernetes:s%2Fe', [null, null]],
    [
      'a secret of a provider that takes none there: in the form',
      { 'client-secret': 's/e' },
      ['client_secret_post'],
      undefined,
      ['kubernetes', 's/e'],
    ],
  ] as const)('the client shows itself with %s', async ([, more, methods, header, form]) => {
    provider.methods = methods;
    await kubeconfig(config({ 'id-token': provider.idToken(0), ...more }));
    await (await credentials()).token();
    const [seen] = provider.requests;
    const basic = header === undefined ? undefined : `Basic ${Buffer.from(header).toString('base64')}`;
    expect(seen?.authorization).toBe(basic);
    expect([seen?.form.get('client_id'), seen?.form.get('client_secret')]).toEqual(form);
    expect(seen?.form.get('grant_type')).toBe('refresh_token');
  });

  test.for([
    [
      'a refresh token that is used up',
      { 'refresh-token': 'old' },
      /answered 400: invalid_grant: used before/,
    ],
    ['no refresh token', { 'refresh-token': "''" }, /there is no refresh token/],
    ['a provider that is not there', { 'idp-issuer-url': 'https://127.0.0.1:1' }, /cannot be reached/],
    ['no provider', { 'idp-issuer-url': 'nowhere' }, /idp-issuer-url "nowhere" is no URL/],
    ['an issuer without discovery', { 'idp-issuer-url': 'https://127.0.0.1:PORT' }, /answered 404/],
  ] as const)('%s is reported without the token', async ([, more, message]) => {
    const issuer = more as { 'idp-issuer-url'?: string };
    const given = { ...more } as Record<string, string>;
    if (issuer['idp-issuer-url']?.endsWith('PORT') === true)
      given['idp-issuer-url'] = provider.issuer.replace('/realm', '');
    await kubeconfig(config({ 'id-token': provider.idToken(0), ...given }));
    const failure = await (await credentials()).token().catch(String);
    expect(failure).toMatch(message);
    expect(failure).not.toContain('refresh-0');
  });

  test('a kubeconfig that cannot be written is no reason to stop', async () => {
    await kubeconfig(config({ 'id-token': provider.idToken(0) }));
    const { token } = await credentials();
    await mkdir(`${path()}.part`);
    expect(await token()).toBeDefined();
    await clock.advance(hour);
    expect(await token()).toBeDefined();
    expect(await readFile(path(), 'utf8')).toContain('refresh-token: refresh-0');
  });
});

const selfReview: Resource = {
  group: 'authentication.k8s.io',
  version: 'v1',
  resource: 'selfsubjectreviews',
  kind: 'SelfSubjectReview',
  namespaced: false,
};

/** A folder of a service account as the kubelet writes it: files are links into `..data`, which is swapped as a whole. */
async function swap(folder: string, round: number, files: Readonly<Record<string, string>>): Promise<void> {
  const dated = join(folder, `..${round}`);
  await mkdir(dated, { recursive: true });
  for (const [name, body] of Object.entries(files)) await writeFile(join(dated, name), body);
  await symlink(`..${round}`, join(folder, '..tmp'));
  await rename(join(folder, '..tmp'), join(folder, '..data'));
  if (round === 0) for (const name of Object.keys(files)) await symlink(`..data/${name}`, join(folder, name));
}

describe('credentials from files', () => {
  let server: EmbeddedApiServer;
  let client: HttpApiClient | undefined;
  const tokens = ['one', 'two', 'three'].map((name) => ({
    token: `token-${name}`,
    user: { name, groups: [] },
  }));

  beforeEach(async () => {
    server = await EmbeddedApiServer.start({ tokens, anonymous: false });
  });
  afterEach(async () => {
    await client?.close();
    client = undefined;
    await server.stop();
  });

  const whoAmI = async (): Promise<string> => {
    const object = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' };
    type Review = KubeObject & { status?: { userInfo?: { username?: string } } };
    const answer = await client?.create<Review>(selfReview, object);
    return answer?.status?.userInfo?.username ?? '';
  };

  const inPod = async (files: Readonly<Record<string, string>>): Promise<void> => {
    await swap(dir, 0, files);
    const { hostname: host, port } = new URL(server.url);
    const connection = await inClusterConnection(clock, { host, port, dir });
    expect(connection).toMatchObject({ server: server.url, namespace: 'team' });
    client = createApiClient(connection, { clock });
  };

  test('a pod has its service account; a rotated token is used within a minute, and no sooner', async () => {
    await inPod({ token: 'token-one\n', 'ca.crt': server.ca, namespace: 'team' });
    expect(await whoAmI()).toBe('one');
    await swap(dir, 1, { token: 'token-two', 'ca.crt': server.ca, namespace: 'team' });
    expect(await whoAmI()).toBe('one');
    clock.set(clock.now() + 60_000);
    expect(await whoAmI()).toBe('two');
  });

  test('a token that is refused is read again at once', async () => {
    await inPod({ token: 'revoked', 'ca.crt': server.ca, namespace: 'team' });
    await expect(whoAmI()).rejects.toMatchObject({ status: 401 });
    await swap(dir, 1, { token: 'token-three', 'ca.crt': server.ca, namespace: 'team' });
    expect(await whoAmI()).toBe('three');
  });

  test('a token file of a kubeconfig is read again, too', async () => {
    await writeFile(join(dir, 'token'), 'token-one');
    const ca = Buffer.from(server.ca).toString('base64');
    const config = {
      'current-context': 'x',
      contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
      clusters: [{ name: 'c', cluster: { server: server.url, 'certificate-authority-data': ca } }],
      users: [{ name: 'u', user: { tokenFile: 'token' } }],
    };
    await writeFile(join(dir, 'config'), JSON.stringify(config));
    client = createApiClient(await connectionFromKubeconfig(clock, join(dir, 'config')), { clock });
    expect(await whoAmI()).toBe('one');
    await writeFile(join(dir, 'token'), 'token-two');
    clock.set(clock.now() + 60_000);
    expect(await whoAmI()).toBe('two');
    // for a while there is none
    await rm(join(dir, 'token'));
    clock.set(clock.now() + 60_000);
    expect(await whoAmI()).toBe('two');
    await writeFile(join(dir, 'token'), 'token-three');
    expect(await whoAmI()).toBe('three');
  });

  test('an API server with a certificate of another authority is believed once the file of authorities says so', async () => {
    const other = await EmbeddedApiServer.start({ tokens, anonymous: false });
    const { ca } = other;
    await other.stop();
    await inPod({ token: 'token-one', 'ca.crt': ca, namespace: 'team' });
    await expect(whoAmI()).rejects.toThrow('certificate');
    await swap(dir, 1, { token: 'token-one', 'ca.crt': `${ca}${server.ca}`, namespace: 'team' });
    clock.set(clock.now() + 60_000);
    expect(await whoAmI()).toBe('one');
    await swap(dir, 2, { token: 'token-one', 'ca.crt': ca, namespace: 'team' });
    clock.set(clock.now() + 60_000);
    await expect(whoAmI(), 'connections of before are not used').rejects.toThrow('certificate');
  });

  test('outside of a cluster, and without a service account, that is said', async () => {
    await expect(inClusterConnection(clock, { host: undefined, port: undefined })).rejects.toThrow(
      'KUBERNETES_SERVICE_HOST is not set',
    );
    const there = { host: 'h', port: '1', dir: join(dir, 'none') };
    await expect(inClusterConnection(clock, there)).rejects.toThrow(
      /service account of this pod cannot be read/,
    );
  });
});
