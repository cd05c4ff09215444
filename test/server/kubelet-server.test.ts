import { afterEach, describe, expect, test } from 'vitest';
import { Authority } from '../../src/pki/certificates.ts';
import { alwaysAllow } from '../../src/server/access.ts';
import type { ServerHost } from '../../src/server/host.ts';
import type { KubeletServer } from '../../src/server/kubelet-server.ts';
import { webhookAccess } from '../../src/server/kubelet-server.ts';
import { systemClock } from '../../src/base/clock.ts';
import { ask, clientPair, hostWith, startServer } from './support.ts';

let server: KubeletServer;
afterEach(() => server.close());

const none = { cert: undefined, key: undefined };

describe('who comes in', () => {
  const rows: readonly (readonly [string, object, number])[] = [
    ['nobody without credentials', none, 401],
    [
      'nobody with a certificate of another authority',
      clientPair('x', [], Authority.create('other', Date.now())),
      401,
    ],
    ['nobody with an expired certificate', clientPair('x', [], undefined, Date.now() - 1000), 401],
    ['nobody with an unknown token', { ...none, headers: { authorization: 'Bearer wrong' } }, 401],
    ['whom the client certificate names', {}, 200],
    ['whom a token review names', { ...none, headers: { authorization: 'Bearer good' } }, 200],
    ['but may not all', { ...none, headers: { authorization: 'Bearer alice' } }, 403],
  ];
  test.for(rows)('%s', async ([, options, status]) => {
    const asked: unknown[] = [];
    server = await startServer(
      hostWith(),
      webhookAccess(
        {
          tokenReview: async (token) => ({ authenticated: token !== 'wrong', user: { username: token } }),
          subjectAccessReview: async (spec) => {
            asked.push(spec);
            return { allowed: spec.user !== 'alice' };
          },
        },
        systemClock,
      ),
    );
    const answer = await ask(server, '/pods', options);
    expect(answer.status).toBe(status);
    if (status === 403) {
      expect(answer.body).toBe(
        'Forbidden (user=alice, verb=get, resource=nodes, subresource(s)=[pods proxy])\n',
      );
      expect(asked).toHaveLength(2);
    }
  });
});

describe('where those without credentials may come in', () => {
  const { authenticators } = webhookAccess({
    tokenReview: () => Promise.resolve({ authenticated: false }),
    subjectAccessReview: () => Promise.resolve({ allowed: true }),
  });
  const reviewed = authenticators ? { authenticators } : {};
  const rows: readonly (readonly [string, object, string, number])[] = [
    ['credentials of another kind are none', reviewed, 'Basic YTpi', 200],
    ['a token that is refused does not', reviewed, 'Bearer wrong', 401],
    ['a token is nothing where tokens are not looked at', {}, 'Bearer any', 200],
  ];
  test.for(rows)('%s', async ([, access, authorization, status]) => {
    server = await startServer(hostWith(), { authorizer: alwaysAllow, anonymousAuth: true, ...access });
    expect((await ask(server, '/pods', { ...none, headers: { authorization } })).status).toBe(status);
  });

  test('an invalid certificate is not anonymous, unless another credential is valid', async () => {
    const known = webhookAccess({
      tokenReview: () => Promise.resolve({ authenticated: true, user: { username: 'known' } }),
      subjectAccessReview: () => Promise.resolve({ allowed: true }),
    });
    server = await startServer(hostWith(), { ...known, anonymousAuth: true });
    const other = clientPair('x', [], Authority.create('other', Date.now()));
    const asked = (options: object): Promise<number> =>
      ask(server, '/pods', { ...other, ...options }).then(({ status }) => status);
    expect(await asked({})).toBe(401);
    expect(await asked({ headers: { authorization: 'Bearer good' } })).toBe(200);
  });
});

describe('routes', () => {
  const rows: readonly (readonly [string, string, number, string])[] = [
    ['GET', '/healthz', 200, 'ok'],
    ['POST', '/healthz', 200, 'ok'],
    [
      'GET',
      '/healthz?verbose',
      200,
      '[+]ping ok\n[+]log ok\n[+]syncloop ok\n[+]device-plugin ok\nhealthz check passed\n',
    ],
    ['GET', '/healthz/', 404, '404 page not found\n'],
    ['GET', '//pods', 307, '<a href="/pods">Temporary Redirect</a>.\n\n'],
    ['GET', '/runningpods', 307, '<a href="/runningpods/">Temporary Redirect</a>.\n\n'],
    ['DELETE', '/pods', 405, '405: Method Not Allowed'],
    ['GET', '/pods/x', 404, '404: Page Not Found'],
    ['GET', '/containerLogs/ns/web', 404, '404: Page Not Found'],
    ['GET', '/containerLogs/ns/web/c%2Fd', 404, '404: Page Not Found'],
    ['GET', '/containerLogs/ns/none/c', 404, 'pod "none" does not exist'],
    ['GET', '/containerLogs/ns/web/d', 404, 'container "d" not found in pod "web"'],
    ['GET', '/containerLogs/ns/web/c?tailLines=x', 400, '{"message": "Unable to decode query."}'],
    ['GET', '/containerLogs/ns/web/c?limitBytes=0', 422, '{"message": "Invalid request."}'],
    [
      'GET',
      '/containerLogs/ns/web/c?previous=x',
      400,
      'previous terminated container "c" in pod "web" not found',
    ],
    ['GET', '/containerLogs/ns/web/c?follow=true', 200, 'line 1\nline 2\n'],
    ['GET', '/containerLogs/ns/web/c?tailLines=', 400, '{"message": "Unable to decode query."}'],
    ['GET', '/containerLogs/ns/web/d?stream=Stdout', 404, 'container "d" not found in pod "web"'],
    ['GET', '/containerLogs/ns/web%2F/c', 404, '404: Page Not Found'],
    [
      'GET',
      '/containerLogs//web/c%20',
      307,
      '<a href="/containerLogs/web/c%2520">Temporary Redirect</a>.\n\n',
    ],
    ['GET', '/stats/summary/..', 307, '<a href="/stats/">Temporary Redirect</a>.\n\n'],
    ['GET', '/runningpods?', 307, '<a href="/runningpods/">Temporary Redirect</a>.\n\n'],
    ['DELETE', '/metrics/slis', 200, 'metrics reset\n'],
    ['POST', '/stats/summary', 501, 'this provider keeps no statistics'],
    ['DELETE', '/stats/summary', 405, '405: Method Not Allowed'],
  ];
  test.for(rows)('%s %s answers %i', async ([method, path, status, body]) => {
    const readLog = async (_log: unknown, sink: (bytes: Buffer) => unknown): Promise<void> => {
      await sink(Buffer.from('line 1\n'));
      await sink(Buffer.from('line 2\n'));
    };
    server = await startServer(hostWith({ readLog }));
    const answer = await ask(server, path, { method });
    expect([answer.status, answer.body]).toEqual([status, body]);
  });

  const takers: readonly (readonly [string, string, number, string])[] = [
    ['/containerLogs/ns/web/c', 'text/plain', 406, '406: Not Acceptable\n\nAvailable representations: '],
    ['/containerLogs/ns/web/c', 'application/json, */*', 200, ''],
    ['/containerLogs/ns/web/c', '', 200, ''],
    ['/exec/ns/web/c', 'text/html', 406, '406: Not Acceptable\n\nAvailable representations: '],
    ['/pods', 'application/*', 406, '406: Not Acceptable\n\nAvailable representations: application/json'],
  ];
  test.for(takers)('%s for one who takes %j answers %i', async ([path, accept, status, body]) => {
    server = await startServer(hostWith({ readLog: () => Promise.resolve() }));
    const answer = await ask(server, path, { headers: { accept } });
    expect([answer.status, answer.body]).toEqual([status, body]);
  });

  test('a page in a format that is not supported is refused in JSON', async () => {
    const flags = (): Readonly<Record<string, string>> => ({ a: 'b' });
    server = await startServer(hostWith({ flags }));
    const told = (accept: string): Promise<string> =>
      ask(server, '/flagz', { headers: { accept } }).then(({ body }) => body);
    expect(await told('')).toContain('\na:b\n');
    expect(await told('text/html')).toMatch(/^\{\n  "kind": "Status",\n/);
    expect(await told('application/json')).toMatch(/^\{"kind":"Status",.*\}\n$/);
  });

  const verbosities: readonly (readonly [string, string, number, string])[] = [
    ['PUT', '4', 200, 'successfully set klog.logging.verbosity to 4\n'],
    ['PUT', '', 400, 'strconv.ParseUint: parsing "": invalid syntax\n'],
    ['PUT', '4294967296', 400, 'strconv.ParseUint: parsing "4294967296": value out of range\n'],
    ['PUT', '{}', 400, 'strconv.ParseUint: parsing "{}": invalid syntax\n'],
    [
      'PUT',
      '2147483648',
      400,
      'failed set klog.logging.verbosity 2147483648: strconv.ParseInt: parsing "2147483648": value out of range\n',
    ],
    ['GET', '', 406, 'unsupported http method\n'],
  ];
  test.for(verbosities)('%s of %j to the verbosity answers %i', async ([method, sent, status, body]) => {
    const set: number[] = [];
    const setVerbosity = (verbosity: number): void => void set.push(verbosity);
    server = await startServer(hostWith({ setVerbosity }));
    const answer = await ask(server, '/debug/flags/v', { method, body: sent });
    expect([answer.status, answer.body, set]).toEqual([status, body, status === 200 ? [4] : []]);
  });

  test('the verbosity is left alone where that is turned off', async () => {
    const setVerbosity = (): never => {
      throw new Error('asked for');
    };
    server = await startServer(hostWith({ setVerbosity }), { disabled: { debugFlags: true } });
    expect(await ask(server, '/debug/flags/v', { method: 'PUT', body: '4' })).toMatchObject({
      status: 405,
      body: 'flags endpoint is disabled.\n',
    });
  });

  test('a log that cannot be read is a plain 400', async () => {
    server = await startServer(hostWith({ readLog: () => Promise.reject(new Error('no such file')) }));
    expect(await ask(server, '/containerLogs/ns/web/c')).toMatchObject({ status: 400, body: 'no such file' });
  });

  const checkpoints: readonly (readonly [string, number, string])[] = [
    ['/checkpoint/ns/web/c', 200, '{"items":["/c-0.tar"]}'],
    ['/checkpoint/ns/web/c?timeout=x&timeout=7', 200, '{"items":["/c-7.tar"]}'],
    ['/checkpoint/ns/web/c?timeout=7&timeout=x', 404, 'cannot parse value of timeout parameter'],
    ['/checkpoint/ns/none/c', 404, 'pod does not exist'],
    ['/checkpoint/ns/web/d', 404, 'container d does not exist'],
    ['/checkpoint/ns/web/c?timeout=13', 500, 'checkpointing of ns/web/c failed (no luck)'],
  ];
  test.for(checkpoints)('POST %s answers %i', async ([path, status, body]) => {
    const checkpoint: ServerHost['checkpoint'] = ({ container }, seconds) =>
      seconds === 13
        ? Promise.reject(new Error('no luck'))
        : Promise.resolve([`/${container}-${String(seconds)}.tar`]);
    server = await startServer(hostWith({ checkpoint }));
    const answer = await ask(server, path, { method: 'POST' });
    expect([answer.status, answer.body]).toEqual([status, body]);
  });

  test('a container that does not run, or a provider without the power, makes no checkpoint', async () => {
    const checkpoint = (): Promise<readonly string[]> => Promise.resolve([]);
    server = await startServer(hostWith({ checkpoint, runningPods: () => Promise.resolve([]) }));
    expect(await ask(server, '/checkpoint/ns/web/c', { method: 'POST' })).toMatchObject({
      status: 500,
      body: 'checkpointing of ns/web/c failed (container c not found)',
    });
    await server.close();
    server = await startServer(hostWith());
    expect(await ask(server, '/checkpoint/ns/web/c', { method: 'POST' })).toMatchObject({
      status: 404,
      body: 'this provider makes no checkpoints',
    });
  });

  test('with the gate ContainerCheckpoint off there is no such path', async () => {
    const checkpoint = (): Promise<readonly string[]> => Promise.resolve([]);
    server = await startServer(hostWith({ checkpoint }), { checkpoints: false });
    expect(await ask(server, '/checkpoint/ns/web/c', { method: 'POST' })).toMatchObject({
      status: 404,
      body: '404 page not found\n',
    });
  });

  test.for([
    [true, 200, 'err\n'],
    [
      false,
      400,
      'unable to return the given log stream: "Stderr". Please enable PodLogsQuerySplitStreams feature gate in kubelet',
    ],
  ] as const)('one stream of a log, split %s: %i', async ([splitStreams, status, body]) => {
    const readLog: ServerHost['readLog'] = async ({ options }, sink) => {
      await sink(Buffer.from(options.stream === 'Stderr' ? 'err\n' : 'out\nerr\n'));
    };
    server = await startServer(hostWith({ readLog }), { splitStreams });
    const answer = await ask(server, '/containerLogs/ns/web/c?stream=Stderr');
    expect([answer.status, answer.body]).toEqual([status, body]);
  });

  test('an upgrade to an unsupported protocol is answered like any request', async () => {
    server = await startServer(hostWith());
    const answer = await ask(server, '/healthz', {
      headers: { connection: 'Upgrade', upgrade: 'websocket' },
    });
    expect([answer.status, answer.body]).toEqual([200, 'ok']);
  });
});
