import { createHash, X509Certificate } from 'node:crypto';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { EmbeddedApiServer } from '../../../src/apiserver/index.ts';
import { Authority, hour } from '../../../src/pki/certificates.ts';
import { call } from '../support.ts';

const now = Date.now();
const authority = Authority.create('users', now);
let server: EmbeddedApiServer;
beforeEach(async () => {
  server = await EmbeddedApiServer.start({ clientAuthorities: [authority.cert] });
});
afterEach(() => server.stop());

/** Returns the answer to a SelfSubjectReview of a user with a certificate. */
const whoAmI = (uids: readonly string[]): ReturnType<typeof call> => {
  const admin = authority.issue({
    subject: { commonName: 'jane', organizations: ['system:masters'], uids },
    ...{ notBefore: now - hour, notAfter: now + hour, usages: ['client auth'] },
  });
  const review = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' };
  const { port, ca } = server;
  const path = '/apis/authentication.k8s.io/v1/selfsubjectreviews';
  return call({ port, ca, admin } as EmbeddedApiServer, 'POST', path, review);
};

test("a certificate's user has its SHA-256 as credential ID", async () => {
  const review = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' };
  const { text } = await call(server, 'POST', '/apis/authentication.k8s.io/v1/selfsubjectreviews', review);
  const hash = createHash('sha256').update(new X509Certificate(server.admin.cert).raw).digest('hex');
  expect(JSON.parse(text)).toMatchObject({
    status: { userInfo: { extra: { 'authentication.kubernetes.io/credential-id': [`X509SHA256=${hash}`] } } },
  });
});

test('the UID of a user is in the subject of his certificate', async () => {
  expect(JSON.parse((await whoAmI(['u-7'])).text)).toMatchObject({
    status: { userInfo: { username: 'jane', uid: 'u-7' } },
  });
  expect((await whoAmI([])).text).not.toContain('"uid":');
});

test.each([[['']], [['u-7', 'u-8']]])('a certificate with the UIDs %j is refused', async (uids) => {
  expect((await whoAmI(uids)).status).toBe(401);
});
