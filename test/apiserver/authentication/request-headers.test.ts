import { request } from 'node:https';
import { afterEach, expect, test } from 'vitest';
import { EmbeddedApiServer } from '../../../src/apiserver/index.ts';
import { Authority, hour, type KeyPair } from '../../../src/pki/certificates.ts';

const now = Date.now();
const authority = Authority.create('front-proxy-ca', now);
const proxy = (commonName: string, by = authority): KeyPair =>
  by.issue({
    subject: { commonName },
    notBefore: now - hour,
    notAfter: now + hour,
    usages: ['client auth'],
  });

let server: EmbeddedApiServer | undefined;
afterEach(async () => {
  await server?.stop();
});

/** Returns the user as the server sees it. */
async function whoAmI(
  pair: KeyPair | undefined,
  headers: Readonly<Record<string, string | string[]>>,
): Promise<unknown> {
  const { port, ca } = server!;
  const body = '{"apiVersion":"authentication.k8s.io/v1","kind":"SelfSubjectReview"}';
  const path = '/apis/authentication.k8s.io/v1/selfsubjectreviews';
  return new Promise((resolve, reject) => {
    const outgoing = request(
      {
        ...{ host: '127.0.0.1', port, ca, path, method: 'POST', agent: false },
        ...pair,
        headers: { ...headers, 'Content-Type': 'application/json', 'Content-Length': body.length },
      },
      (response) => {
        let text = '';
        response.on('data', (chunk: Buffer) => (text += chunk.toString()));
        response.on('end', () => {
          const answer = JSON.parse(text) as { status?: { userInfo?: unknown }; code?: number };
          resolve(answer.status?.userInfo ?? answer.code);
        });
      },
    );
    outgoing.on('error', reject);
    outgoing.end(body);
  });
}

test('a front proxy names the user, by a certificate of its authority and an allowed name', async () => {
  server = await EmbeddedApiServer.start({
    requestHeaders: { authorities: authority.cert, allowedNames: ['front-proxy'] },
    clientAuthorities: [authority.cert],
  });
  const headers = {
    'X-Remote-User': 'jane',
    'X-Remote-Group': ['dev', 'ops'],
    'X-Remote-Extra-Acme.com%2Fteam': 'blue',
  };
  expect(await whoAmI(proxy('front-proxy'), headers)).toMatchObject({
    username: 'jane',
    groups: ['dev', 'ops', 'system:authenticated'],
    extra: { 'acme.com/team': ['blue'] },
  });
  // headers of others are ignored
  expect(await whoAmI(proxy('someone'), headers)).toMatchObject({ username: 'someone' });
  expect(await whoAmI(server.admin, headers)).toMatchObject({ username: 'podtender-admin' });
  expect(
    await whoAmI(proxy('front-proxy', Authority.create('front-proxy-ca', now)), headers),
  ).not.toMatchObject({ username: 'jane' });
  expect(await whoAmI(undefined, headers)).not.toMatchObject({ username: 'jane' });
});

test('authorities without a certificate are rejected at the start', async () => {
  const started = EmbeddedApiServer.start({ requestHeaders: { authorities: 'nothing' } });
  await expect(started).rejects.toThrow('no PEM certificate');
});
