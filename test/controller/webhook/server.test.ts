import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { Authority } from '../../../src/pki/certificates.ts';
import { allowed, validating, WebhookServer } from '../../../src/controller/webhook/index.ts';
import { eventually } from '../manager/bench-manager.ts';
import { servedName } from '../support.ts';
import { endServers, folder, listening, pairOf, reviewOf } from './support.ts';

afterEach(endServers);

describe('webhook server', () => {
  test('1 plain handlers are served too; other paths are 404', async () => {
    const { send, metrics } = await listening((server) => {
      server.register('/plain', (_request, response) => void response.writeHead(202).end('ok'));
    });
    expect(await send('/plain', '')).toMatchObject({ status: 202, text: 'ok' });
    expect(await send('/other', '')).toMatchObject({ status: 404, text: '404 page not found\n' });
    expect(metrics()).toContain('controller_runtime_webhook_requests_total{webhook="/plain",code="202"} 1\n');
    expect(metrics()).toContain('controller_runtime_webhook_requests_total{webhook="/plain",code="500"} 0\n');
    expect(metrics()).not.toContain('/other');
  });

  test('2 a path is registered once; also while the server runs', async () => {
    const { server, send } = await listening(() => undefined);
    server.register(
      '/late',
      validating(() => allowed()),
    );
    expect((await send('/late', reviewOf())).json.response).toMatchObject({ allowed: true });
    expect(() => {
      server.register(
        '/late',
        validating(() => allowed()),
      );
    }).toThrow('cannot register duplicate path: /late');
    expect(() => {
      server.register(
        'late',
        validating(() => allowed()),
      );
    }).toThrow('path "late" must begin with /');
  });

  test('3 the started checker passes while the server answers', async () => {
    const before = new WebhookServer({ port: 0 }).startedChecker();
    await expect(before()).rejects.toThrow('webhook server has not been started yet');
    const { server } = await listening(() => undefined);
    await server.startedChecker()();
    await server.close(AbortSignal.abort());
    await expect(server.startedChecker()()).rejects.toThrow('webhook server has not been started yet');
  });

  test('4 a certificate that changes on disk is served to new connections; a broken one is not', async () => {
    const now = Date.parse('2026-01-01T00:00:00Z');
    const [one, two] = [pairOf('one', now), pairOf('two', now)];
    const certDir = folder({ 'tls.crt': one.cert, 'tls.key': one.key });
    const { port, clock, metrics } = await listening(() => undefined, { certDir });
    expect(await servedName(port)).toBe('one');
    writeFileSync(join(certDir, 'tls.key'), two.key);
    await clock.advance(10_000);
    await eventually(() => /certwatcher_read_certificate_errors_total [1-9]/.test(metrics()));
    expect(await servedName(port)).toBe('one');
    writeFileSync(join(certDir, 'tls.crt'), two.cert);
    await clock.advance(10_000);
    await eventually(
      () => servedName(port),
      (name) => name === 'two',
    );
  });

  test('5 with clientCAName a client needs a certificate of that authority', async () => {
    const now = Date.now();
    const authority = Authority.create('clients', now);
    const own = pairOf('server', now);
    const certDir = folder({ 'a.crt': own.cert, 'a.key': own.key, 'clients.crt': authority.cert });
    const { send } = await listening(
      (server) => {
        server.register(
          '/v',
          validating(() => allowed()),
        );
      },
      { certDir, certName: 'a.crt', keyName: 'a.key', clientCAName: 'clients.crt' },
    );
    const client = pairOf('apiserver', now, authority);
    expect((await send('/v', reviewOf(), { tls: client })).json.response).toMatchObject({ allowed: true });
    await expect(send('/v', reviewOf())).rejects.toThrow();
    await expect(send('/v', reviewOf(), { tls: pairOf('other', now) })).rejects.toThrow();
  });

  test('6 a folder without a certificate is an error that names it', async () => {
    const certDir = folder({});
    await expect(new WebhookServer({ port: 0, certDir }).listen()).rejects.toThrow(
      new RegExp(`^certDir ${certDir}: .*tls.crt`),
    );
  });

  test('7 start() serves until its signal aborts', async () => {
    const stop = new AbortController();
    const server = new WebhookServer({ port: 0, host: '127.0.0.1' });
    const ended = server.start(stop.signal);
    await eventually(() => server.address !== undefined);
    await server.startedChecker()();
    stop.abort();
    await ended;
  });
});
