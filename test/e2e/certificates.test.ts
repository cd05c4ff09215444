import { X509Certificate } from 'node:crypto';
import { readFileSync, readlinkSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { connect, type TLSSocket } from 'node:tls';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createApiClient, type HttpApiClient } from '../../src/api/rest/http-client.ts';
import { leaseResource, nodeResource } from '../../src/api/resources.ts';
import { EmbeddedApiServer } from '../../src/apiserver/index.ts';
import { systemClock } from '../../src/base/clock.ts';
import type { Lease, Node } from '../../src/kube/types.ts';
import { freePort, makeDir, Podtender } from './podtender.ts';
import { found } from '../support/found.ts';

/** Lives of what is issued here, ms: renewed 6.7 to 9.1 s after it was issued. */
const signing = { lifetimeMs: 10_000, backdateMs: 2000 };
const token = 'abcdef.0123456789abcdef';

/** `podtender run` that joins with nothing but a bootstrap token, and whose certificates last for seconds: real time, since TLS takes no other. */
describe('certificates by request', { timeout: 90_000 }, () => {
  const dir = makeDir();
  const dataDir = join(dir.path, 'data');
  const pki = join(dataDir, 'pki');
  const kubeconfig = join(dir.path, 'kubeconfig');
  let server: EmbeddedApiServer;
  let admin: HttpApiClient;
  let agent: Podtender;
  let port: number;
  let healthz: number;
  let readOnly: number;

  const run = (): Podtender =>
    new Podtender({
      dataDir,
      command: 'run',
      args: [
        '--provider=memory',
        '--log-level=info',
        `--kubeconfig=${kubeconfig}`,
        `--bootstrap-kubeconfig=${join(dir.path, 'bootstrap')}`,
        `--config=${join(dir.path, 'kubelet.yaml')}`,
        '--rotate-certificates',
      ],
    });

  beforeAll(async () => {
    const user = { name: 'system:bootstrap:abcdef', groups: ['system:bootstrappers'] };
    server = await EmbeddedApiServer.start({ signing, tokens: [{ token, user }] });
    admin = createApiClient({ server: server.url, ca: server.ca, ...server.admin }, { clock: systemClock });
    [port, healthz, readOnly] = [await freePort(), await freePort(), await freePort()];
    const bootstrap = server.kubeconfig().replace(/client-certificate-data:.*/, `token: ${token}`);
    writeFileSync(join(dir.path, 'bootstrap'), bootstrap.replace(/client-key-data:.*/, ''));
    writeFileSync(join(dir.path, 'ca.crt'), server.ca);
    writeFileSync(
      join(dir.path, 'kubelet.yaml'),
      JSON.stringify({
        apiVersion: 'kubelet.config.k8s.io/v1beta1',
        kind: 'KubeletConfiguration',
        serverTLSBootstrap: true,
        address: '127.0.0.1',
        port,
        healthzPort: healthz,
        readOnlyPort: readOnly,
        nodeLeaseDurationSeconds: 4,
        authentication: { x509: { clientCAFile: join(dir.path, 'ca.crt') } },
      }),
    );
    agent = run();
  });
  afterAll(async () => {
    await agent.end();
    await admin.close();
    await server.stop();
    dir.remove();
  });

  /** The serving certificate as a client sees it that believes the cluster's authority alone. */
  async function served(): Promise<{ readonly socket: TLSSocket; readonly serial: string }> {
    const socket = connect({
      host: '127.0.0.1',
      port,
      ca: server.ca,
      checkServerIdentity: () => undefined,
      ...server.admin,
    });
    await new Promise<void>((resolve, reject) => {
      socket.once('secureConnect', resolve).once('error', reject);
    });
    return { socket, serial: socket.getPeerCertificate().serialNumber };
  }

  const asking = {
    withinMs: 40_000,
    everyMs: 100,
    otherwise: () => `The log says\n${agent.stderr.all.join('\n')}`,
  };
  const until = <T>(what: string, look: () => Promise<T | undefined>): Promise<T> =>
    found(what, look, asking);

  const stored = (name: string): X509Certificate =>
    new X509Certificate(readFileSync(join(pki, `${name}-current.pem`)));
  const changed = (name: string, serial: string): Promise<X509Certificate> =>
    until(`another ${name} certificate`, async () => {
      await Promise.resolve();
      const now = stored(name);
      return now.serialNumber === serial ? undefined : now;
    });

  test('a bootstrap token is all it takes to become a node', async () => {
    const node = await until('the node', () => admin.get<Node>(nodeResource, { name: 'e2e' }));
    expect(node.status?.daemonEndpoints?.kubeletEndpoint?.Port).toBe(port);
    const client = stored('kubelet-client');
    expect(client.subject.split('\n').sort()).toEqual(['CN=system:node:e2e', 'O=system:nodes']);
    expect(readlinkSync(join(pki, 'kubelet-client-current.pem'))).toMatch(
      /^kubelet-client-\d{4}-\d\d-\d\d-\d\d-\d\d-\d\d\.pem$/,
    );
    expect(readFileSync(kubeconfig, 'utf8')).toContain(join(pki, 'kubelet-client-current.pem'));
    expect(readFileSync(kubeconfig, 'utf8')).not.toContain(token);
  });

  test('the serving certificate is renewed, and connections that stand go on', async () => {
    const { socket, serial } = await until('the serving certificate', served);
    expect(stored('kubelet-server').serialNumber).toBe(serial);
    expect(stored('kubelet-server').subjectAltName).toContain('DNS:e2e');
    const next = await until('another serving certificate', async () => {
      const now = await served();
      now.socket.destroy();
      return now.serial === serial ? undefined : now.serial;
    });
    expect(stored('kubelet-server').serialNumber).toBe(next);
    const answer = new Promise<string>((resolve) =>
      socket.once('data', (data) => {
        resolve(String(data));
      }),
    );
    socket.write('GET /healthz HTTP/1.1\r\nHost: e2e\r\nConnection: close\r\n\r\n');
    expect(await answer).toMatch(/^HTTP\/1.1 200 OK/);
    socket.destroy();
  });

  test('the client certificate is renewed, and the node goes on telling that it lives', async () => {
    const first = stored('kubelet-client');
    const second = await changed('kubelet-client', first.serialNumber);
    await changed('kubelet-client', second.serialNumber);
    const lease = (): Promise<Lease> =>
      admin.get<Lease>(leaseResource, { namespace: 'kube-node-lease', name: 'e2e' });
    // the first certificate has expired: only the newer ones let it in
    expect(Date.parse(first.validTo)).toBeLessThan(Date.now());
    const before = (await lease()).spec?.renewTime;
    await until('a renewed lease', async () => {
      const { renewTime } = (await lease()).spec ?? {};
      return renewTime === before ? undefined : renewTime;
    });
  });

  test('a restart goes on with what is stored, and after a long absence begins anew', async () => {
    await agent.end();
    const { serialNumber } = stored('kubelet-client');
    agent = run();
    await until('the serving certificate', served);
    expect(agent.stderr.all.join('\n')).toContain(serialNumber);
    await agent.end();
    await sleep(signing.lifetimeMs + 500); // what is stored has expired: the token asks again
    agent = run();
    await changed('kubelet-client', stored('kubelet-client').serialNumber);
    await until('the serving certificate', served);
  });

  test('metrics tell how long the certificates are in force', async () => {
    const text = await (await fetch(`http://127.0.0.1:${readOnly}/metrics`)).text();
    for (const which of ['server', 'client']) {
      const [, seconds] =
        new RegExp(`^kubelet_certificate_manager_${which}_ttl_seconds (\\S+)$`, 'm').exec(text) ?? [];
      expect(Math.abs(Number(seconds))).toBeLessThanOrEqual(signing.lifetimeMs / 1000);
    }
    expect(text).toMatch(/^kubelet_server_expiration_renew_errors \d+$/m);
  });

  const plain = (at: number, path: string, method = 'GET'): Promise<number> =>
    new Promise((resolve, reject) => {
      request({ host: '127.0.0.1', port: at, path, method }, (response) => {
        response.resume();
        resolve(response.statusCode ?? 0);
      })
        .on('error', reject)
        .end();
    });

  test('the healthz port and the read-only port serve what they should, and no more', async () => {
    const rows: readonly (readonly [number, string, number])[] = [
      [healthz, '/healthz', 200],
      [healthz, '/healthz/ping', 200],
      [healthz, '/metrics', 404],
      [healthz, '/pods', 404],
      [readOnly, '/healthz', 200],
      [readOnly, '/pods', 200],
      [readOnly, '/metrics', 200],
      [readOnly, '/metrics/probes', 200],
      [readOnly, '/exec/default/x/c', 405],
      [readOnly, '/run/default/x/c', 405],
      [readOnly, '/containerLogs/default/x/c', 405],
      [readOnly, '/logs/', 405],
      [readOnly, '/configz', 404],
      [readOnly, '/checkpoint/default/x/c', 404],
    ];
    const found = [];
    for (const [at, path] of rows) found.push([at, path, await plain(at, path)]);
    expect(found).toEqual(rows);
  });
});
