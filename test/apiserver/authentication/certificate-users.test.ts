import { createHash, X509Certificate } from 'node:crypto';
import { expect, test } from 'vitest';
import { EmbeddedApiServer } from '../../../src/apiserver/index.ts';
import { call } from '../support.ts';

test("a certificate's user has its SHA-256 as credential ID", async () => {
  const server = await EmbeddedApiServer.start();
  const review = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' };
  const { text } = await call(server, 'POST', '/apis/authentication.k8s.io/v1/selfsubjectreviews', review);
  await server.stop();
  const hash = createHash('sha256').update(new X509Certificate(server.admin.cert).raw).digest('hex');
  expect(JSON.parse(text)).toMatchObject({
    status: { userInfo: { extra: { 'authentication.kubernetes.io/credential-id': [`X509SHA256=${hash}`] } } },
  });
});
