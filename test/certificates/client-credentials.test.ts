import { X509Certificate } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createApiClient, type HttpApiClient } from '../../src/api/rest/http-client.ts';
import { connectionFromKubeconfig } from '../../src/api/kubeconfig/kube-client.ts';
import { nodeResource, type Resource } from '../../src/api/resources.ts';
import { EmbeddedApiServer, type EmbeddedApiServerOptions } from '../../src/apiserver/index.ts';
import { systemClock } from '../../src/base/clock.ts';
import { silentLogger } from '../../src/base/logger.ts';
import { systemRandom } from '../../src/base/random.ts';
import {
  type ClientCredentials,
  clientCredentials,
  type ClientCredentialsOptions,
} from '../../src/certificates/client-credentials.ts';
import type { KubeList, KubeObject } from '../../src/kube/types.ts';
import { tokenKubeconfig } from '../support/token-kubeconfig.ts';
import { TunnelProxy } from '../support/tunnel-proxy.ts';

const csrResource: Resource = {
  group: 'certificates.k8s.io',
  version: 'v1',
  resource: 'certificatesigningrequests',
  kind: 'CertificateSigningRequest',
  namespaced: false,
};
const token = 'abcdef.0123456789abcdef';
const bootstrapper = { name: 'system:bootstrap:abcdef', groups: ['system:bootstrappers'] };

let dir: string;
let server: EmbeddedApiServer;
let admin: HttpApiClient;
let stop: AbortController;
let running: Promise<void>[];

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'credentials-'));
  stop = new AbortController();
  running = [];
});
afterEach(async () => {
  stop.abort();
  await Promise.all(running);
  await admin.close();
  await server.stop();
  await rm(dir, { recursive: true });
});

async function serve(options: EmbeddedApiServerOptions = {}): Promise<void> {
  server = await EmbeddedApiServer.start({ tokens: [{ token, user: bootstrapper }], ...options });
  admin = createApiClient({ server: server.url, ca: server.ca, ...server.admin }, { clock: systemClock });
}

async function bootstrapFile(): Promise<string> {
  const path = join(dir, 'bootstrap');
  await writeFile(path, tokenKubeconfig(server, token));
  return path;
}

async function begin(more: Partial<ClientCredentialsOptions> = {}): Promise<ClientCredentials> {
  const credentials = await clientCredentials({
    kubeconfig: join(dir, 'kubeconfig'),
    certDir: join(dir, 'pki'),
    nodeName: 'n1',
    rotate: true,
    clock: systemClock,
    random: systemRandom,
    logger: silentLogger,
    ...more,
  });
  running.push(credentials.run(stop.signal));
  return credentials;
}

const requests = async (): Promise<readonly KubeObject[]> => {
  const { items }: KubeList<KubeObject> = await admin.list(csrResource);
  return items;
};

test('with bootstrap credentials the first certificate lets the node in, and a restart asks no more', async () => {
  await serve();
  const credentials = await begin({ bootstrapKubeconfig: await bootstrapFile() });
  await credentials.ready(stop.signal);
  const client = createApiClient(credentials.connection, { clock: systemClock });
  await client.create(nodeResource, { apiVersion: 'v1', kind: 'Node', metadata: { name: 'n1' } });
  await client.close();
  stop.abort();
  stop = new AbortController();
  await rm(join(dir, 'bootstrap')); // as its owner may, once it was used
  const again = await begin({ bootstrapKubeconfig: join(dir, 'bootstrap') });
  expect(again.certificate()?.cert).toBe(credentials.certificate()?.cert);
  expect(await requests()).toHaveLength(1);
});

test('a node that is let in by a proxy goes on by it, and that of the environment is not written down', async () => {
  await serve();
  const proxy = await TunnelProxy.http();
  const proxyUrl = `http://127.0.0.1:${proxy.port}`;
  const bootstrapKubeconfig = await bootstrapFile();
  const text = await readFile(bootstrapKubeconfig, 'utf8');
  const cluster = `"cluster":${JSON.stringify({ 'proxy-url': proxyUrl }).slice(0, -1)},`;
  await writeFile(bootstrapKubeconfig, text.replace('"cluster":{', cluster));
  const credentials = await begin({ bootstrapKubeconfig });
  await credentials.ready(stop.signal);
  expect(credentials.certificate()).toBeDefined();
  expect(proxy.requests).toContainEqual({ target: new URL(server.url).host, user: undefined });
  const kubeconfig = join(dir, 'kubeconfig');
  expect((await connectionFromKubeconfig(systemClock, kubeconfig)).proxyUrl).toBe(proxyUrl);
  await proxy.close();

  const away = 'https://api.example.com:6443';
  await writeFile(bootstrapKubeconfig, text.replaceAll(server.url, away));
  const proxies = { HTTPS_PROXY: 'http://me:secret@127.0.0.1:1' };
  const [certDir, other] = [join(dir, 'other'), join(dir, 'other-kubeconfig')];
  const { connection } = await clientCredentials({
    ...{ kubeconfig: other, bootstrapKubeconfig, certDir, nodeName: 'n1', rotate: true, proxies },
    ...{ clock: systemClock, random: systemRandom, logger: silentLogger },
  });
  expect(connection.proxyUrl).toBe(proxies.HTTPS_PROXY);
  const written = await readFile(other, 'utf8');
  expect([written.includes(away), written.includes('proxy')]).toEqual([true, false]);
});

test('a kubeconfig with a certificate in it has it exchanged at once, and kept where the next start finds it', async () => {
  await serve();
  const user = server.clientCertificate('system:node:n1', ['system:nodes']);
  await writeFile(join(dir, 'kubeconfig'), server.kubeconfig(user));
  const credentials = await begin();
  expect(credentials.certificate()?.cert).toBe(user.cert);
  await expect.poll(() => credentials.certificate()?.cert).not.toBe(user.cert);
  const stored = new X509Certificate(await readFile(join(dir, 'pki', 'kubelet-client-current.pem')));
  expect(stored.serialNumber).toBe(credentials.certificate()?.leaf.serialNumber);
  expect(existsSync(join(dir, 'pki', 'kubelet-client.key.tmp'))).toBe(false);
});

test('with a certificate of its own, too, the authorities that its kubeconfig names are read again', async () => {
  await serve();
  const user = server.clientCertificate('system:node:n1', ['system:nodes']);
  const [cert, key] = [user.cert, user.key].map((pem) => Buffer.from(pem).toString('base64'));
  const config = {
    'current-context': 'x',
    contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
    clusters: [{ name: 'c', cluster: { server: server.url, 'certificate-authority': 'ca' } }],
    users: [{ name: 'u', user: { 'client-certificate-data': cert, 'client-key-data': key } }],
  };
  await writeFile(join(dir, 'kubeconfig'), JSON.stringify(config));
  await writeFile(join(dir, 'ca'), server.ca);
  const { connection } = await begin({ rotate: false });
  const seen = async (): Promise<string> => String((await connection.credentials?.current())?.ca);
  expect(await seen()).toBe(server.ca);
  await writeFile(join(dir, 'ca'), `${server.ca}${server.ca}`);
  connection.credentials?.invalidate();
  expect(await seen()).toBe(`${server.ca}${server.ca}`);
  expect(await connection.credentials?.current()).toBe(await connection.credentials?.current());
});

test('while the request is undecided, calls fail with the reason; the request survives a restart', async () => {
  await serve({ controllers: false });
  const bootstrapKubeconfig = await bootstrapFile();
  const credentials = await begin({ bootstrapKubeconfig });
  await expect.poll(requests).toHaveLength(1);
  const client = createApiClient(credentials.connection, { clock: systemClock });
  await expect(client.list(nodeResource)).rejects.toMatchObject({
    code: 'unauthenticated',
    message: expect.stringContaining(
      'there is no client certificate yet: the request for one is not decided',
    ) as string,
  });
  const [before] = await requests();
  stop.abort();
  stop = new AbortController();
  const again = await begin({ bootstrapKubeconfig });
  const denied = {
    type: 'Denied',
    status: 'True',
    reason: 'NotOurs',
    message: 'nobody knows this node',
  };
  await admin.patch(
    csrResource,
    { name: before?.metadata?.name ?? '' },
    { type: 'merge', body: { status: { conditions: [denied] } } },
    { subresource: 'approval' },
  );
  await expect
    .poll(() => Promise.resolve(again.connection.credentials?.current()).catch(String))
    .toContain('is denied, reason: NotOurs, message: nobody knows this node');
  expect(again.stats().failures).toBe(1);
  await client.close();
});

test.for([
  ['no file', {}, /kubeconfig .*kubeconfig/],
  ['no bootstrap file either', { bootstrapKubeconfig: '/nowhere/bootstrap' }, /nowhere\/bootstrap/],
] as const)('with %s the start ends with what is missing', async ([, more, message]) => {
  await serve();
  await expect(begin(more)).rejects.toThrow(message);
});
