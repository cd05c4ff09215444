import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { EmbeddedApiServer } from '../../../../src/apiserver/index.ts';
import { type Answer, call } from '../../support.ts';

const merge = 'application/merge-patch+json';
const head = 'pod-security.kubernetes.io/';
const events: { readonly annotations?: Readonly<Record<string, string>> }[] = [];
let server: EmbeddedApiServer;
beforeAll(async () => {
  server = await EmbeddedApiServer.start({
    audit: (event) => void events.push(event),
  });
});
afterAll(() => server.stop());

const namespace = async (name: string, labels: Readonly<Record<string, string>>): Promise<Answer> => {
  const all = Object.fromEntries(Object.entries(labels).map(([key, value]) => [head + key, value]));
  const made = await call(server, 'POST', '/api/v1/namespaces', { metadata: { name } });
  return made.status === 201 || made.status === 409
    ? call(server, 'PATCH', `/api/v1/namespaces/${name}`, { metadata: { labels: all } }, merge)
    : made;
};
const podOf = (name: string, spec: object = {}): object => ({
  metadata: { name },
  spec: { containers: [{ name: 'c', image: 'x' }], ...spec },
});
const messageOf = ({ body }: Answer): string => (body as unknown as { readonly message: string }).message;

test('a pod that violates the enforced level is refused; an update without another image is not', async () => {
  const pods = '/api/v1/namespaces/strict/pods';
  await namespace('strict', {});
  expect((await call(server, 'POST', pods, podOf('before', { hostPID: true }))).status).toBe(201);
  await namespace('strict', { enforce: 'baseline' });
  const refused = await call(server, 'POST', pods, podOf('p', { hostPID: true }));
  expect(refused.status).toBe(403);
  expect(messageOf(refused)).toBe(
    'pods "p" is forbidden: violates PodSecurity "baseline:latest": host namespaces (hostPID=true)',
  );
  expect((await call(server, 'POST', pods, podOf('p'))).status).toBe(201);
  const strategic = 'application/strategic-merge-patch+json';
  const patch = (body: object): Promise<Answer> => call(server, 'PATCH', `${pods}/before`, body, strategic);
  expect((await patch({ metadata: { labels: { a: 'b' } } })).status).toBe(200);
  expect((await patch({ spec: { containers: [{ name: 'c', image: 'y' }] } })).status).toBe(403);
});

test('workloads and pods are warned of, and violations are in the audit event', async () => {
  await namespace('warned', { warn: 'baseline', 'warn-version': 'v1.30', audit: 'baseline' });
  const template = { metadata: { labels: { a: 'b' } }, ...podOf('', { hostIPC: true }) };
  const made = await call(server, 'POST', '/apis/apps/v1/namespaces/warned/deployments', {
    metadata: { name: 'd' },
    spec: {
      selector: { matchLabels: { a: 'b' } },
      template: { ...template, metadata: { labels: { a: 'b' } } },
    },
  });
  expect(made.status).toBe(201);
  expect(made.headers.warning).toContain(
    '299 - "would violate PodSecurity \\"baseline:v1.30\\": host namespaces (hostIPC=true)"',
  );
  events.length = 0;
  const pod = await call(server, 'POST', '/api/v1/namespaces/warned/pods', podOf('p', { hostIPC: true }));
  expect(pod.status).toBe(201);
  const recorded = await vi.waitFor(() => {
    const found = events.find(({ annotations = {} }) => `${head}enforce-policy` in annotations);
    if (!found) throw new Error('no audit event of a pod in this namespace yet');
    return found.annotations;
  });
  expect(recorded).toMatchObject({
    [`${head}enforce-policy`]: 'privileged:latest',
    [`${head}audit-violations`]:
      'would violate PodSecurity "baseline:latest": host namespaces (hostIPC=true)',
  });
});

test('a stricter namespace warns of its pods; wrong labels are rejected', async () => {
  const pods = '/api/v1/namespaces/stricter/pods';
  await namespace('stricter', {});
  for (const name of ['b', 'a', 'c']) await call(server, 'POST', pods, podOf(name, { hostPID: true }));
  const changed = await namespace('stricter', { enforce: 'baseline' });
  expect(changed.status).toBe(200);
  expect(changed.headers.warning).toBe(
    '299 - "existing pods in namespace \\"stricter\\" violate the new PodSecurity enforce level \\"baseline:latest\\"", 299 - "a (and 2 other pods): host namespaces"',
  );
  expect((await namespace('stricter', { enforce: 'privileged' })).headers.warning).toBeUndefined();
  const wrong = await namespace('stricter', { enforce: 'bad' });
  expect(wrong.status).toBe(422);
  expect(messageOf(wrong)).toBe(
    'Namespace "stricter" is invalid: metadata.labels[pod-security.kubernetes.io/enforce]: Invalid value: "bad": must be one of privileged, baseline, restricted',
  );
});
