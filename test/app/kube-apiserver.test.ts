import { createPublicKey, generateKeyPairSync } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Agent, request } from 'undici';
import { afterAll, afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { ApiConnection } from '../../src/api/rest/connection.ts';
import { createApiClient } from '../../src/api/rest/http-client.ts';
import { namespaceResource } from '../../src/api/resources.ts';
import { type RunningEtcd, startEtcd } from '../../src/app/etcd.ts';
import { parseFlags } from '../../src/app/go-flags.ts';
import { type RunningKubeApiServer, startKubeApiServer } from '../../src/app/kube-apiserver.ts';
import { etcdFlags, kubeApiServerFlags } from '../../src/app/kube-apiserver-flags.ts';
import { systemClock } from '../../src/base/clock.ts';
import { Authority, hour, type KeyPair } from '../../src/pki/certificates.ts';

let dir: string;
let etcd: RunningEtcd;
let warnings: string[];
const running: RunningKubeApiServer[] = [];
beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), 'podtender-kube-apiserver-'));
  warnings = [];
  const args = ['--listen-client-urls', 'http://127.0.0.1:0', '--data-dir', join(dir, 'etcd')];
  etcd = await startEtcd(parseFlags(args, etcdFlags));
});
afterEach(async () => {
  for (const server of running.splice(0)) await server.stop();
  await etcd.stop();
  rmSync(dir, { recursive: true, force: true });
});

const now = Date.now();
const issue = (authority: Authority, commonName: string, organizations: readonly string[] = []): KeyPair =>
  authority.issue({
    ...{ subject: { commonName, organizations }, notBefore: now - hour, notAfter: now + hour },
    ...{ usages: ['client auth', 'server auth'], hosts: ['127.0.0.1'] },
  });

const file = (name: string, text: string): string => {
  writeFileSync(join(dir, name), text);
  return join(dir, name);
};

/** A client's certificate that is its own authority, and no authority by its extensions. */
function selfSignedPair(): KeyPair {
  const { key, cert } = Authority.create('any', now);
  const request = {
    ...{ subject: { commonName: 'kubeapitest', organizations: ['system:masters'] } },
    ...{ publicKey: createPublicKey(key), notBefore: now - hour, notAfter: now + hour },
  };
  const named = new Authority({ key, cert: new Authority({ key, cert }).sign(request) });
  return { key, cert: named.sign(request) };
}

async function start(args: readonly string[], signal = new AbortController().signal) {
  const flags = parseFlags(
    ['--secure-port', '0', '--bind-address', '127.0.0.1', ...args],
    kubeApiServerFlags,
  );
  const server = await startKubeApiServer(flags, {
    write: () => undefined,
    warn: (line) => warnings.push(line),
    signal,
  });
  running.push(server);
  return server;
}

const unverified = new Agent({ connect: { rejectUnauthorized: false } });
afterAll(() => unverified.close());

/** Reads a document without credentials. */
async function textOf(url: string, accept: string): Promise<string> {
  const { body } = await request(url, { headers: { accept }, dispatcher: unverified });
  return body.text();
}

/** Creates a namespace; returns the HTTP status. */
async function tryCreate(connection: ApiConnection, name: string): Promise<number> {
  const client = createApiClient(connection, { clock: systemClock });
  try {
    await client.create(namespaceResource, { apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
    return 201;
  } catch (reason) {
    return (reason as { readonly status?: number }).status ?? 0;
  } finally {
    await client.close();
  }
}

describe('kube-apiserver with the flags of envtest', () => {
  test('serves with the certificate of the directory, and takes clients of the authority that is handed over', async () => {
    const [serving, clients] = [Authority.create('serving', now), Authority.create('clients', now)];
    const pair = issue(serving, 'apiserver');
    mkdirSync(join(dir, 'certs'));
    file('certs/apiserver.crt', pair.cert);
    file('certs/apiserver.key', pair.key);
    const sa = Authority.create('sa', now);
    const server = await start([
      ...[`--etcd-servers=${etcd.urls[0] ?? ''}`, '--allow-privileged=true', `--cert-dir=${dir}/certs`],
      ...['--authorization-mode=RBAC', '--disable-admission-plugins=ServiceAccount'],
      ...[`--client-ca-file=${file('ca.crt', clients.cert)}`, '--service-cluster-ip-range=10.0.0.0/24'],
      ...[
        '--service-account-issuer=https://127.0.0.1:1/',
        `--service-account-key-file=${file('sa.crt', sa.cert)}`,
      ],
      `--service-account-signing-key-file=${file('sa.key', sa.key)}`,
    ]);
    const at = { server: server.url, ca: serving.cert };
    expect(await tryCreate({ ...at, ...issue(clients, 'admin', ['system:masters']) }, 'a')).toBe(201);
    expect(await tryCreate({ ...at, ...issue(clients, 'someone') }, 'b')).toBe(403);
    const stranger = Authority.create('clients', now);
    expect(await tryCreate({ ...at, ...issue(stranger, 'admin', ['system:masters']) }, 'c')).toBe(403);
    // pods without service accounts, as envtest has them
    const client = createApiClient(
      { ...at, ...issue(clients, 'admin', ['system:masters']) },
      { clock: systemClock },
    );
    const pod = await client.raw('/api/v1/namespaces/a/pods', {
      method: 'POST',
      body: { metadata: { name: 'x' }, spec: { containers: [{ name: 'c', image: 'i' }] } },
    });
    expect((pod as { spec: object }).spec).not.toHaveProperty('serviceAccountName');
    const { issuer } = (await client.raw('/.well-known/openid-configuration', { method: 'GET' })) as {
      readonly issuer: string;
    };
    expect(issuer).toBe('https://127.0.0.1:1/');
    const own = await client.raw('/api/v1/namespaces/default/services/kubernetes', { method: 'GET' });
    expect((own as { spec: object }).spec).toMatchObject({ clusterIP: '10.0.0.1' });
    await client.close();
  });

  test('objects survive the server as long as etcd has its directory', async () => {
    const clients = Authority.create('clients', now);
    const ca = file('ca.crt', clients.cert);
    const admin = issue(clients, 'admin', ['system:masters']);
    const args = [
      '--etcd-servers',
      etcd.urls[0] ?? '',
      '--client-ca-file',
      ca,
      '--authorization-mode',
      'RBAC',
    ];
    const first = await start(args);
    expect(await tryCreate({ server: first.url, skipTlsVerify: true, ...admin }, 'mine')).toBe(201);
    await running.pop()?.stop();
    const second = await start(args);
    expect(await tryCreate({ server: second.url, skipTlsVerify: true, ...admin }, 'mine')).toBe(409);
  });

  test('fabric8: a client certificate that signed itself, a key as PKCS#1, flags with and without values', async () => {
    const selfSigned = selfSignedPair();
    const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
    const key = file('apiserver.key', privateKey.export({ type: 'pkcs1', format: 'pem' }).toString());
    const server = await start([
      ...[
        '--etcd-servers',
        (etcd.urls[0] ?? '').replace('127.0.0.1', '0.0.0.0'),
        '--authorization-mode',
        'RBAC',
      ],
      ...['--service-account-issuer', 'https://localhost', '--service-account-signing-key-file', key],
      ...['--service-account-key-file', key, '--service-account-issuer', '/some/file', '--allow-privileged'],
      ...[
        '--client-ca-file',
        file('client.crt', selfSigned.cert),
        '--service-cluster-ip-range',
        '10.0.0.0/24',
      ],
    ]);
    expect(await tryCreate({ server: server.url, skipTlsVerify: true, ...selfSigned }, 'f')).toBe(201);
  });

  test('tokens of a file, and the modes AlwaysAllow and AlwaysDeny', async () => {
    const tokens = file('tokens.csv', 'secret,jane,1,"dev,ops"\nbroken\n');
    const args = ['--etcd-servers', etcd.urls[0] ?? '', '--token-auth-file', tokens];
    const open = await start([...args, '--authorization-mode', 'AlwaysAllow']);
    expect(await tryCreate({ server: open.url, skipTlsVerify: true, token: 'secret' }, 'a')).toBe(201);
    expect(await tryCreate({ server: open.url, skipTlsVerify: true, token: 'other' }, 'b')).toBe(401);
    expect(warnings).toEqual(['--token-auth-file: line 2 has no token and user: ignored']);
    const shut = await start([...args, '--authorization-mode', 'AlwaysDeny', '--etcd-prefix', '/other']);
    expect(await tryCreate({ server: shut.url, skipTlsVerify: true, token: 'secret' }, 'a')).toBe(403);
  });

  test('without the gate AggregatedDiscoveryEndpoint each group is another request', async () => {
    const lists = async (gates: readonly string[]): Promise<unknown> => {
      const args = ['--etcd-servers', etcd.urls[0] ?? '', '--etcd-prefix', `/${gates.length}`];
      const { url } = await start([...args, ...gates]);
      const accept = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json';
      return JSON.parse(await textOf(`${url}/apis`, accept)) as unknown;
    };
    expect(await lists([])).toMatchObject({ kind: 'APIGroupDiscoveryList' });
    expect(await lists(['--feature-gates', 'kube:AggregatedDiscoveryEndpoint=false'])).toMatchObject({
      kind: 'APIGroupList',
    });
    const broken = ['--etcd-servers', etcd.urls[0] ?? '', '--feature-gates', 'AggregatedDiscoveryEndpoint'];
    await expect(start(broken)).rejects.toThrow(
      'invalid argument "AggregatedDiscoveryEndpoint" for "--feature-gates" flag: Gate=true or Gate=false is expected',
    );
  });

  test('the audit log holds what the policy says, and nothing without one', async () => {
    const policy = file(
      'policy.yaml',
      'apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{ level: Request, verbs: [create], color: red }]\n',
    );
    const log = join(dir, 'audit.log');
    const args = ['--etcd-servers', etcd.urls[0] ?? '', '--audit-log-path', log];
    const server = await start([...args, '--audit-policy-file', policy]);
    expect(await tryCreate({ server: server.url, skipTlsVerify: true }, 'a')).toBe(201);
    await running.pop()?.stop();
    const events = readFileSync(log, 'utf8').trim().split('\n');
    expect(events.map((line) => JSON.parse(line) as unknown)).toMatchObject([
      { stage: 'RequestReceived', level: 'Request' },
      { stage: 'ResponseComplete', requestObject: { kind: 'Namespace', metadata: { name: 'a' } } },
    ]);
    expect(warnings).toEqual([`--audit-policy-file ${policy}: unknown field "rules[0].color"`]);
    warnings.length = 0;
    rmSync(log);
    const silent = await start(args);
    expect(await tryCreate({ server: silent.url, skipTlsVerify: true }, 'b')).toBe(201);
    expect(existsSync(log)).toBe(false);
    expect(warnings).toEqual([
      '--audit-log-path: no audit policy file provided, no events will be recorded for log backend',
    ]);
  });

  test('the modes ABAC and Webhook, by the files of the flags', async () => {
    const authorizer = createServer((request, response) => {
      let text = '';
      request.on('data', (chunk: Buffer) => (text += chunk.toString()));
      request.on('end', () => {
        const asked = JSON.parse(text) as { spec: { resourceAttributes?: { name?: string } } };
        const isAllowed = request.url === '/authorize' && asked.spec.resourceAttributes?.name !== 'x';
        response.setHeader('Content-Type', 'application/json');
        response.end(JSON.stringify({ ...asked, status: { allowed: isAllowed } }));
      });
    });
    await new Promise<void>((done) => authorizer.listen(0, '127.0.0.1', done));
    const { port } = authorizer.address() as AddressInfo;
    const kubeconfig = file(
      'authorizer.yaml',
      `apiVersion: v1
kind: Config
current-context: c
clusters: [{ name: a, cluster: { server: 'http://127.0.0.1:${port}/authorize' } }]
users: [{ name: u, user: {} }]
contexts: [{ name: c, context: { cluster: a, user: u } }]
`,
    );
    const tokens = file('tokens.csv', 'secret,jane,1\n');
    const args = ['--etcd-servers', etcd.urls[0] ?? '', '--token-auth-file', tokens];
    const asked = await start([
      ...[...args, '--authorization-mode', 'Webhook', '--authorization-webhook-config-file', kubeconfig],
      ...['--authorization-webhook-version', 'v1', '--authorization-webhook-cache-authorized-ttl', '0'],
    ]);
    expect(await tryCreate({ server: asked.url, skipTlsVerify: true, token: 'secret' }, 'a')).toBe(201);
    await running.pop()?.stop();
    await new Promise((done) => authorizer.close(done));
    const policies = file('policies', '{"user":"jane","resource":"namespaces"}\n');
    const by = ['--authorization-mode', 'ABAC', '--authorization-policy-file', policies];
    const listed = await start([...args, ...by, '--etcd-prefix', '/other']);
    expect(await tryCreate({ server: listed.url, skipTlsVerify: true, token: 'secret' }, 'a')).toBe(201);
  });

  test('beside another etcd, objects are in memory', async () => {
    const other = createServer((_request, response) => response.writeHead(404).end());
    await new Promise<void>((done) => other.listen(0, '127.0.0.1', done));
    const url = `http://127.0.0.1:${(other.address() as AddressInfo).port}`;
    await start(['--etcd-servers', url]);
    other.close();
    expect(warnings).toEqual([`etcd at ${url} is not podtender's: objects are kept in memory`]);
  });

  test.each([
    [[], '--etcd-servers must be specified'],
    [['--etcd-servers', 'nowhere'], 'a URL is expected'],
    [['--service-cluster-ip-range', '10.0.0.0/31'], 'must be at least 8 IP addresses'],
    [['--oidc-issuer-url', 'https://x'], '--oidc-issuer-url is not supported by podtender'],
    [['--audit-log-mode', 'loose'], '--audit-log-mode loose: batch, blocking or blocking-strict is expected'],
    [['--audit-policy-file', '/none'], '--audit-policy-file /none: open /none: no such file'],
    [
      ['--authorization-mode', 'Webhook'],
      "authorization-mode Webhook's authorization config file not passed",
    ],
    [
      ['--authorization-mode', 'ABAC,Mine'],
      /^\[authorization-mode ABAC's .*, authorization-mode "Mine" is not a valid/,
    ],
    [
      ['--authorization-mode', 'RBAC,RBAC'],
      'authorization-mode ["RBAC" "RBAC"] has mode specified more than once',
    ],
    [['--authorization-policy-file', 'f'], 'cannot specify --authorization-policy-file without mode ABAC'],
    [
      ['--authorization-mode=Webhook', '--authorization-webhook-config-file=/none'],
      '--authorization-webhook-config-file /none: ',
    ],
    [['--client-ca-file', '/none'], '--client-ca-file /none: '],
    [['--secure-port', 'x'], 'a number from 0 to 65535 is expected'],
  ])('%j is rejected', async (args, text) => {
    const etcdFlag =
      args.length === 0 || args[0] === '--etcd-servers' ? [] : ['--etcd-servers', etcd.urls[0] ?? ''];
    await expect(start([...etcdFlag, ...args])).rejects.toThrow(text);
  });

  test('a start that waits for etcd ends with its signal', async () => {
    const stopping = new AbortController();
    const started = start(['--etcd-servers', 'http://127.0.0.1:1'], stopping.signal);
    stopping.abort();
    await expect(started).rejects.toThrow('--etcd-servers http://127.0.0.1:1 does not answer');
  });
});
